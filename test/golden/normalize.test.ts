import { EventView } from '@sluice/shared/codec/event-view.ts';
import { describe, expect, it } from 'vitest';
import { readTransaction, type TransactionView } from '@sluice/shared/solana/transaction/inner-events.ts';
import { encodeEvent } from '@sluice/shared/codec/encode-event.ts';
import type { StreamEvent } from '@sluice/shared/wire/events/events.ts';
import { canonicalPoolAddress } from '@sluice/venues/pump/amm/program.ts';
import { bondingCurveAddress } from '@sluice/venues/pump/curve/program.ts';
import { createHarness } from '../ingest/harness.ts';
import { until } from '../support/until.ts';
import { mintAccountBytes } from '../ingest/pump-frames.ts';
import { dataLine, invoked } from '../ingest/log-frames.ts';
import { accountJson } from '../ingest/scripted-node.ts';
import { fixtureAccount, fixtureJson, fixturesNote, fixturesPresent, fixtureTransaction } from './fixtures.ts';
import { logsSighting } from '../ingest/sightings.ts';
import { eventFaults } from '../support/events/event-faults.ts';

const receivedUs = 1_791_485_925_000_000;
/** 200 USD for one SOL, half a second before. */
const solUsd = { price: 200, slot: 454_631_560, atMs: 1_791_485_924_500 };
const sol = 'So11111111111111111111111111111111111111112';
const usdc = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
const tokenkeg = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
const token2022 = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb';
const ammProgram = 'pAMMBay6oceH9fJKBRHGP5D4bD4sWpmSwMn52FMfXEA';
const pumpProgram = '6EF8rrecthR5Dkzon8Nwu78hRvfCKubJ14M5uBEwF6P';

const ts = { received: receivedUs, published: 0 };
const behind = { price: 200, slot: 454_631_560, ageMs: 500 };

function view(name: string): TransactionView {
  const read = readTransaction(fixtureTransaction(name));
  if (read.kind === 'malformed') throw new Error(read.reason);
  return read;
}

/** Events of the logs, as `logsSubscribe` reports them. */
function fromLogs(name: string): StreamEvent[] {
  const { signature, slot, logs } = view(name);
  const { pipeline, events, faults, lines } = createHarness({ solUsd });
  pipeline.takeNew(logsSighting({ signature, slot: slot ?? 435_948_600, logs, receivedUs }));
  expect(faults).toEqual([]);
  expect(lines).toEqual([]);
  expect(events.flatMap(eventFaults)).toEqual([]);
  return events;
}

/** Events of the whole transaction, without its logs. */
function fromTransaction(name: string): StreamEvent[] {
  const transaction: TransactionView = { ...view(name), logs: [] };
  const { signature, slot } = transaction;
  const { pipeline, events } = createHarness({ solUsd });
  const origin = { source: 'recording', signature, slot: slot ?? 435_948_600, commitment: 'processed', receivedUs, late: false } as const;
  pipeline.takeNew({ kind: 'whole', ...origin, transaction });
  return events;
}

/** The only token account of the owner in the recorded balances. */
function balanceAfter(name: string, owner: string, mint: string): string {
  const { postTokenBalances } = (fixtureTransaction(name) as { meta: { postTokenBalances: readonly RecordedBalance[] } }).meta;
  const found = postTokenBalances.filter((balance) => balance.owner === owner && balance.mint === mint);
  expect(found).toHaveLength(1);
  return found[0]!.uiTokenAmount.amount;
}

interface RecordedBalance {
  readonly owner: string;
  readonly mint: string;
  readonly uiTokenAmount: { readonly amount: string };
}

describe.skipIf(!fixturesPresent)(`recorded transactions as the contract's events (${fixturesNote})`, () => {
  it('pump_buy_legacy_2026-10-08: trade and price', () => {
    const signature = 'Kz7Nk1YiVWWjEZtRsTbjJoAuiBfnbeZXEDG2ewcb3B25rSeLTAjUzpTJCGbxznJqt6tEyMWssANGCd6adELod5Q';
    const common = {
      mint: '3Gk7HitdL5zbHurcn8uSKvoKq9QXaVErsGsVQLKCpump',
      quoteMint: sol,
      pool: 'pump',
      poolAddress: 'A32V2ZxQyV7MM5CBbJ9udCPREiNQjUkm6PcGjWuC7KgS',
      signature,
      slot: 454_631_564,
      blockTime: 1_791_485_924,
      commitment: 'processed',
      ts,
      // 44.626284175 SOL for 721,323,787.674865 tokens; the supply of a coin older than the process is not known yet.
      priceQuote: 6.18672015778789e-8,
      priceSol: 6.18672015778789e-8,
      priceUsd: 0.00001237344031557578,
      marketCapSol: null,
      marketCapUsd: null,
      reserves: {
        virtualBase: '721323787674865',
        virtualQuote: '44626284175',
        realBase: '441423787674865',
        realQuote: '14626284175',
      },
    };
    expect(fromLogs('pump_buy_legacy_2026-10-08')).toStrictEqual([
      {
        type: 'trade',
        id: `${signature}:3.0`,
        ...common,
        mainPool: common.poolAddress,
        side: 'buy',
        trader: '7fg4UpZBcydz19bmu4hJqHn3Y43LSy45W7NqJEcmmMWd',
        feePayer: null,
        baseAmount: '159676340219',
        baseDecimals: 6,
        quoteAmount: '9876542',
        priceQuoteBefore: 6.183982011827122e-8,
        quoteDecimals: 9,
        tokenAmount: 159_676.340219,
        solAmount: 0.009876542,
        quoteUiAmount: 0.009876542,
        fees: [
          { kind: 'protocol', amount: '93828', bps: 95, mint: sol },
          { kind: 'holderRewards', amount: '29630', bps: 30, mint: sol },
        ],
        feeTotal: '123458',
      },
      { type: 'price', id: `${signature}:3.0.price`, ...common, mainPool: common.poolAddress, source: 'trade', solUsd: behind },
    ]);
  });

  it('pump_buy_mayhem_2026-07-29: a buy in USDC by the mayhem program', () => {
    const signature = '2m5nWLnDSbM5SEGCnRxuftg5PFFZR6kziuNQbmrmqtEhbH81PyKVeEsipiXaFQxnerN8zQYB2XRwozrjoZheFDuG';
    const common = {
      mint: '4F4gGVBAWuKi3EpmYdhntXvCVFqZZqmrb1cqNGawpump',
      quoteMint: usdc,
      pool: 'pump',
      poolAddress: 'HR8M4iQmzagQ7vUDREycE2XSHuELmiQSFSrCa4eKytn5',
      signature,
      slot: 435_948_490,
      blockTime: 1_785_328_584,
      commitment: 'processed',
      ts,
      priceQuote: 0.000009177360910695691,
      priceSol: 4.5886804553478456e-8,
      priceUsd: 0.000009177360910695691,
      marketCapSol: null,
      marketCapUsd: null,
      reserves: {
        virtualBase: '1067677499811569',
        virtualQuote: '9798461752',
        realBase: '787777499811569',
        realQuote: '25148140',
      },
    };
    expect(fromLogs('pump_buy_mayhem_2026-07-29')).toStrictEqual([
      {
        type: 'trade',
        id: `${signature}:2.0`,
        ...common,
        mainPool: common.poolAddress,
        side: 'buy',
        trader: 'BwWK17cbHxwWBKZkUYvzxLcNQ1YVyaFezduWbtm2de6s',
        feePayer: null,
        baseAmount: '445377137871',
        baseDecimals: 6,
        quoteAmount: '3517192',
        priceQuoteBefore: 0.000009170241337751675,
        quoteDecimals: 6,
        tokenAmount: 445_377.137871,
        solAmount: null,
        quoteUiAmount: 3.517192,
        fees: [],
        feeTotal: '0',
      },
      { type: 'price', id: `${signature}:2.0.price`, ...common, mainPool: common.poolAddress, source: 'trade', solUsd: behind },
    ]);
  });

  it('pump_create_v2_and_buy_2026-07-29: a cashback coin with a buy of its creator', () => {
    const signature = '2RoRJxatbF9Qkv87jei19u7ei2ckyjjnrCHZBRRAXi4GFJi68kra2iPSk7aoQ9Ugnf5FK5Mdp274hMaVSzn6SN5M';
    const creator = '5htGpHK2oV9g2BcDqLdRBqjCLdy8mc3fsESfR5DU73eM';
    const common = {
      mint: 'CWiTGbCiDd8BKtNYNE2boT9fJGFG2MU53Uf6HQk4pump',
      quoteMint: sol,
      pool: 'pump',
      poolAddress: '3jJ83NDorkbFkF1JKbEfFWGeX16aXUiwby9RwJm9kat3',
      signature,
      slot: 435_946_190,
      blockTime: 1_785_327_618,
      commitment: 'processed',
      ts,
      priceQuote: 3.375448671019636e-8,
      priceSol: 3.375448671019636e-8,
      priceUsd: 0.000006750897342039272,
      marketCapSol: 33.75448671019636,
      marketCapUsd: 6_750.897342039272,
      reserves: { virtualBase: '976550561855907', virtualQuote: '32962962962', realBase: '696650561855907', realQuote: '2962962962' },
    };
    expect(fromLogs('pump_create_v2_and_buy_2026-07-29')).toStrictEqual([
      {
        type: 'newToken',
        id: `${signature}:2`,
        ...common,
        quoteSymbol: 'SOL',
        name: 'The Ass Statue',
        symbol: 'TAS',
        uri: 'https://meta.uxento.io/data/714b0bec-90cb-4cbb-9598-b7bcbcd3bd06',
        creator,
        trader: creator,
        tokenProgram: token2022,
        bondingCurve: '3jJ83NDorkbFkF1JKbEfFWGeX16aXUiwby9RwJm9kat3',
        platform: null,
        supply: '1000000000000000',
        decimals: 6,
        initialBuy: {
          trader: creator,
          baseAmount: '96449438144093',
          quoteAmount: '2962962962',
          tokenAmount: 96_449_438.144093,
          solAmount: 2.962962962,
        },
        traits: ['cashback'],
        creatorFeeBps: 0,
      },
      {
        type: 'trade',
        id: `${signature}:5`,
        ...common,
        mainPool: common.poolAddress,
        side: 'buy',
        trader: creator,
        feePayer: null,
        baseAmount: '96449438144093',
        baseDecimals: 6,
        quoteAmount: '2962962962',
        priceQuoteBefore: 2.7958993476234855e-8,
        quoteDecimals: 9,
        tokenAmount: 96_449_438.144093,
        solAmount: 2.962962962,
        quoteUiAmount: 2.962962962,
        // With the amount through the curve, 3 SOL exactly.
        fees: [
          { kind: 'protocol', amount: '28148149', bps: 95, mint: sol },
          { kind: 'cashback', amount: '8888889', bps: 30, mint: sol },
        ],
        feeTotal: '37037038',
      },
      { type: 'price', id: `${signature}:5.price`, ...common, mainPool: common.poolAddress, source: 'trade', solUsd: behind },
    ]);
  });

  it('pump_create_from_blocksubscribe_2026-07-29: a creation with a buy, base64', () => {
    const signature = '5EDHe12KqokKkhDLY8n5cs7hYs5g49mNFTMKHARafs9FMVBYcG1rYf7VD4h1zd19G7zaXGNLqqyTsczPXbbafYuZ';
    const creator = '5zsxd4pGNCQpwyKiBWZ95nCTPsEPoS62xEGnjpW6FRy7';
    const common = {
      mint: '7YD6ZHb39jGb33ki2iFd7kHK11yMkSFCc9kvjJscpump',
      quoteMint: sol,
      pool: 'pump',
      poolAddress: '9hgcsTpZP48Ttku3uhg5gZ388YFCfErayJ5rHSru9PF7',
      signature,
      slot: 435_948_600,
      blockTime: 1_785_328_607,
      commitment: 'processed',
      ts,
      priceQuote: 2.8143359820910102e-8,
      priceSol: 2.8143359820910102e-8,
      priceUsd: 0.00000562867196418202,
      marketCapSol: 28.143359820910103,
      marketCapUsd: 5_628.67196418202,
      reserves: { virtualBase: '1069479628926077', virtualQuote: '30098750018', realBase: '789579628926077', realQuote: '98750018' },
    };
    expect(fromLogs('pump_create_from_blocksubscribe_2026-07-29')).toStrictEqual([
      {
        type: 'newToken',
        id: `${signature}:0`,
        ...common,
        quoteSymbol: 'SOL',
        name: 'NYXORA',
        symbol: 'NYXORA',
        uri: 'https://ipfs.io/ipfs/bafkreiguttiiufcl24xtnzgxvvonh7b535a3dh6txrjgwax2hyecsyj46i',
        creator,
        trader: creator,
        tokenProgram: token2022,
        bondingCurve: '9hgcsTpZP48Ttku3uhg5gZ388YFCfErayJ5rHSru9PF7',
        platform: null,
        supply: '1000000000000000',
        decimals: 6,
        initialBuy: {
          trader: creator,
          baseAmount: '3520371073923',
          quoteAmount: '98750018',
          tokenAmount: 3_520_371.073923,
          solAmount: 0.098750018,
        },
        traits: [],
        creatorFeeBps: 0,
      },
      {
        type: 'trade',
        id: `${signature}:2`,
        ...common,
        mainPool: common.poolAddress,
        side: 'buy',
        trader: creator,
        feePayer: null,
        baseAmount: '3520371073923',
        baseDecimals: 6,
        quoteAmount: '98750018',
        priceQuoteBefore: 2.7958993476234855e-8,
        quoteDecimals: 9,
        tokenAmount: 3_520_371.073923,
        solAmount: 0.098750018,
        quoteUiAmount: 0.098750018,
        fees: [
          { kind: 'protocol', amount: '938126', bps: 95, mint: sol },
          { kind: 'creator', amount: '296251', bps: 30, mint: sol },
        ],
        feeTotal: '1234377',
      },
      { type: 'price', id: `${signature}:2.price`, ...common, mainPool: common.poolAddress, source: 'trade', solUsd: behind },
    ]);
  });

  it('a program without events of ours gives none', () => {
    expect(fromLogs('raydium_clmm_swap_2025-10-28')).toEqual([]);
    expect(fromTransaction('raydium_clmm_swap_2025-10-28')).toEqual([]);
  });

  it('a program that does not log: the whole transaction alone shows its trade', () => {
    expect(fromLogs('meteora_damm_v2_swap_2025-10-25')).toEqual([]);
    expect(fromTransaction('meteora_damm_v2_swap_2025-10-25')).toMatchObject([
      { type: 'trade', pool: 'meteora-damm-v2', side: 'buy', quoteMint: sol, solAmount: 0.003853747, depth: '333357119' },
      { type: 'price', source: 'trade' },
    ]);
  });

  it.each([
    'pump_buy_legacy_2026-10-08',
    'pump_buy_mayhem_2026-07-29',
    'pump_create_v2_and_buy_2026-07-29',
    'pump_create_from_blocksubscribe_2026-07-29',
  ])('%s: inner instructions alone give the same events, with the fee payer and the balance', (name) => {
    const { feePayer, slot, blockTime, index } = view(name);
    const logged = fromLogs(name);
    const whole = fromTransaction(name);
    expect(whole).toHaveLength(logged.length);
    expect(whole).toStrictEqual(
      logged.map((event) => ({
        ...event,
        slot: slot ?? 435_948_600,
        ...('blockTime' in event ? { blockTime: blockTime ?? event.blockTime } : {}),
        ...('feePayer' in event ? { feePayer } : {}),
        ...(event.type === 'trade' && index !== null ? { transactionIndex: index } : {}),
        ...(event.type === 'trade' ? { traderBalance: balanceAfter(name, event.trader, event.mint) } : {}),
      })),
    );
  });

  it('encodes every one of them as JSON and MessagePack', async () => {
    const { unpack } = await import('../support/clients/msgpack.ts');
    for (const name of ['pump_buy_legacy_2026-10-08', 'pump_buy_mayhem_2026-07-29', 'pump_create_v2_and_buy_2026-07-29']) {
      for (const event of fromLogs(name)) {
        const { json, msgpack } = new EventView(encodeEvent(event));
        expect(JSON.parse(Buffer.from(json).toString())).toStrictEqual(event);
        expect(unpack(msgpack)).toStrictEqual(event);
      }
    }
  });
});

interface RecordedEvent {
  readonly name: string;
  readonly signature: string;
  readonly slot?: number;
  readonly event_b64: string;
}

function recorded(name: string): RecordedEvent {
  const found = (fixtureJson('events/events_2026-10.json') as RecordedEvent[]).find((event) => event.name === name);
  if (found === undefined) throw new Error(`There is no event ${name}.`);
  return found;
}

describe.skipIf(!fixturesPresent)(`recorded single events (${fixturesNote})`, () => {
  it('CreateEvent of 2026-10, one byte longer than the published layout', () => {
    const { signature, event_b64 } = recorded('pump_create_v2_2026-10-08');
    const { pipeline, events, lines } = createHarness({ solUsd });
    const logs = invoked(pumpProgram, 1, [dataLine(Buffer.from(event_b64, 'base64'))]);
    pipeline.takeNew(logsSighting({ signature, slot: 454_655_000, logs, receivedUs }));
    expect(lines).toEqual([]);
    expect(events).toStrictEqual([
      {
        type: 'newToken',
        id: `${signature}:0`,
        mint: 'CLYsNxoYZZGhLdS2s6LP7AK7g4d9VQxm2Baxrfppump',
        quoteMint: sol,
        pool: 'pump',
        poolAddress: 'Ct1er2nHmt1ga8vahhmPZBW2BVwv71Boi6HtAdMyskZx',
        signature,
        slot: 454_655_000,
        blockTime: 1_791_495_216,
        commitment: 'processed',
        ts,
        quoteSymbol: 'SOL',
        name: 'Rolex (ROLX)',
        symbol: 'Rolex',
        uri: 'https://ipfs.io/ipfs/QmSoiHKoXcQPSkqGeYbdSnPEW1Pw7iKJGwBPD4RYwafGsa',
        creator: 'FLmqWm6XLqWUgz32DSVRQPMnGmMCii3QihwQn2AxPKtr',
        trader: 'FLmqWm6XLqWUgz32DSVRQPMnGmMCii3QihwQn2AxPKtr',
        tokenProgram: token2022,
        bondingCurve: 'Ct1er2nHmt1ga8vahhmPZBW2BVwv71Boi6HtAdMyskZx',
        platform: null,
        supply: '1000000000000000',
        decimals: 6,
        initialBuy: null,
        priceQuote: 2.7958993476234855e-8,
        priceSol: 2.7958993476234855e-8,
        priceUsd: 0.000005591798695246971,
        marketCapSol: 27.958993476234856,
        marketCapUsd: 5_591.798695246971,
        reserves: { virtualBase: '1073000000000000', virtualQuote: '30000000000', realBase: '793100000000000', realQuote: '0' },
        traits: [],
        creatorFeeBps: 0,
      },
    ]);
  });

  it('PumpSwap SellEvent: the pair is read from the pool, the reserves are those after the trade', async () => {
    const { signature, slot = 0, event_b64 } = recorded('pumpswap_sell_2026-10-08');
    const poolAddress = '6g2v2FRny274RxReMcNX2B4N5Xzc8m8aQE2RbaQDdxRW';
    // The recorded pool replaces the event's own, which was not recorded with it.
    const pool = fixtureAccount('pumpswap_pool_0_2026-09');
    const mint = '9tiUg9bDHpEgE3rQU8kmdMJMvMfwM81ph6WuyTapump';
    const accounts = new Map([
      [poolAddress, accountJson(pool.owner, pool.data)],
      [mint, accountJson(tokenkeg, mintAccountBytes(6, 999_000_000_000_000n))],
    ]);
    const { pipeline, events, lines, calls } = createHarness({ solUsd, accounts });
    const logs = invoked(ammProgram, 1, [dataLine(Buffer.from(event_b64, 'base64'))]);
    pipeline.takeNew(logsSighting({ signature, slot, logs, receivedUs }));
    await until('the pool is resolved', () => events.length === 2);
    expect(lines).toEqual([]);
    expect(calls.map(({ method, params }) => [method, params[0]])).toEqual([
      ['getMultipleAccounts', [poolAddress]],
      ['getMultipleAccounts', [mint]],
      // The curve of the mint, and the pools to which it may have migrated, with their vaults.
      ['getMultipleAccounts', expect.arrayContaining([bondingCurveAddress(mint), canonicalPoolAddress(mint, sol)])],
    ]);
    const common = {
      mint,
      quoteMint: sol,
      pool: 'pump-amm',
      poolAddress,
      signature,
      slot: 454_630_902,
      blockTime: 1_791_485_743,
      commitment: 'processed',
      ts,
      // 88.282205032 SOL (15.42 of them virtual) for 201,693,299.87709 tokens; the event's own supply counts.
      priceQuote: 4.37705194400599e-7,
      priceSol: 4.37705194400599e-7,
      priceUsd: 0.0000875410388801198,
      // At the price before the sale.
      marketCapSol: 433.56245491135815,
      marketCapUsd: 86_712.49098227163,
      reserves: { virtualBase: '201693299877090', virtualQuote: '88282205032', realBase: '201693299877090', realQuote: '72860732446' },
    };
    expect(events).toStrictEqual([
      {
        type: 'trade',
        id: `${signature}:0`,
        ...common,
        mainPool: common.poolAddress,
        side: 'sell',
        trader: 'H1MkQA2uUnycYsBtfxwVLNAqGBNZYoZpnKSxJWEmFLTu',
        feePayer: null,
        baseAmount: '185302193907',
        baseDecimals: 6,
        quoteAmount: '81182168',
        priceQuoteBefore: 4.3850976562194487e-7,
        quoteDecimals: 9,
        tokenAmount: 185_302.193907,
        solAmount: 0.081182168,
        quoteUiAmount: 0.081182168,
        fees: [
          { kind: 'protocol', amount: '40592', bps: 5, mint: sol },
          { kind: 'lp', amount: '162365', bps: 20, mint: sol },
          { kind: 'holderRewards', amount: '771231', bps: 95, mint: sol },
        ],
        feeTotal: '974188',
      },
      { type: 'price', id: `${signature}:0.price`, ...common, mainPool: common.poolAddress, source: 'trade', solUsd: behind },
    ]);
  });
});
