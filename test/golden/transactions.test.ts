import { readInnerEvents, readTransaction, type TransactionView } from '@sluice/shared/solana/transaction/inner-events.ts';
import { readLogs } from '@sluice/shared/solana/transaction/logs.ts';
import { decodeTransaction } from '@sluice/shared/solana/transaction/transaction.ts';
import { verifySignature } from '@sluice/shared/solana/addresses/keypair.ts';
import { decodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { eventAuthorities, venueByProgram } from '@sluice/venues/registry.ts';
import { describe, expect, it } from 'vitest';
import { fixtureNames, fixturesNote, fixturesPresent, fixtureTransaction } from './fixtures.ts';
import { decodeEvent, type PlainDecoded, type PlainTrade } from '../support/events/decoded.ts';

const pumpId = '6EF8rrecthR5Dkzon8Nwu78hRvfCKubJ14M5uBEwF6P';
const sol = 'So11111111111111111111111111111111111111112';
const usdc = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
const systemProgram = '11111111111111111111111111111111';

interface Seen {
  readonly programId: string;
  readonly path: string;
  readonly data: string;
}

function view(name: string): TransactionView {
  const read = readTransaction(fixtureTransaction(name));
  if (read.kind === 'malformed') throw new Error(read.reason);
  return read;
}

function fromLogs(transaction: TransactionView): Seen[] {
  const seen: Seen[] = [];
  const reading = readLogs(transaction.logs, (programId, path, data) =>
    seen.push({ programId, path, data: Buffer.from(data).toString('hex') }),
  );
  expect(reading).toEqual({ truncated: false, malformed: null, empty: false });
  return seen;
}

function fromInner(transaction: TransactionView): Seen[] {
  const seen: Seen[] = [];
  const reading = readInnerEvents(transaction, eventAuthorities, (programId, path, data) =>
    seen.push({ programId, path, data: Buffer.from(data).toString('hex') }),
  );
  expect(reading).toEqual({ refused: 0, unreadable: null });
  return seen;
}

/** path → decoded event of our venues, as the logs have them. */
function events(name: string): Record<string, PlainDecoded> {
  const decoded: Record<string, PlainDecoded> = {};
  for (const { programId, path, data } of fromLogs(view(name))) {
    const venue = venueByProgram.get(programId);
    if (venue !== undefined) decoded[path] = decodeEvent(venue, Buffer.from(data, 'hex'));
  }
  return decoded;
}

const none = { amount: 0n, bps: 0 };
const curveStart = { virtualBase: 1_073_000_000_000_000n, virtualQuote: 30_000_000_000n, realBase: 793_100_000_000_000n, realQuote: 0n };

describe.skipIf(!fixturesPresent)(`transactions (${fixturesNote})`, () => {
  it('pump_buy_legacy_2026-10-08: a buy through a router of a holder-reward coin, TradeEvent of 382 bytes', () => {
    const transaction = view('pump_buy_legacy_2026-10-08');
    expect(transaction).toMatchObject({
      signature: 'Kz7Nk1YiVWWjEZtRsTbjJoAuiBfnbeZXEDG2ewcb3B25rSeLTAjUzpTJCGbxznJqt6tEyMWssANGCd6adELod5Q',
      version: 'legacy',
      feePayer: '7fg4UpZBcydz19bmu4hJqHn3Y43LSy45W7NqJEcmmMWd',
      slot: 454_631_564,
      blockTime: 1_791_485_924,
      err: null,
    });
    expect(events('pump_buy_legacy_2026-10-08')).toEqual({
      '3.0': {
        kind: 'decoded',
        event: {
          type: 'trade',
          pool: 'A32V2ZxQyV7MM5CBbJ9udCPREiNQjUkm6PcGjWuC7KgS',
          pair: { baseMint: '3Gk7HitdL5zbHurcn8uSKvoKq9QXaVErsGsVQLKCpump', quoteMint: sol },
          side: 'buy',
          trader: '7fg4UpZBcydz19bmu4hJqHn3Y43LSy45W7NqJEcmmMWd',
          baseAmount: 159_676_340_219n,
          quoteAmount: 9_876_542n,
          before: { priceQuote: 44_616_407_633n, priceBase: 721_483_464_015_084n },
          reserves: {
            virtualBase: 721_323_787_674_865n,
            virtualQuote: 44_626_284_175n,
            realBase: 441_423_787_674_865n,
            realQuote: 14_626_284_175n,
          },
          fees: {
            protocol: { amount: 93_828n, bps: 95 },
            creator: none,
            lp: none,
            cashback: none,
            holderRewards: { amount: 29_630n, bps: 30 },
            total: 123_458n,
          },
          supply: null,
          timestamp: 1_791_485_924,
        },
      },
    });
  });

  it('pump_buy_mayhem_2026-07-29: a buy of a USDC-quoted coin by the mayhem vault, without fees', () => {
    expect(view('pump_buy_mayhem_2026-07-29')).toMatchObject({
      version: 0,
      feePayer: 'Gygj9QQby4j2jryqyqBHvLP7ctv2SaANgh4sCb69BUpA',
      slot: 435_948_490,
    });
    expect(events('pump_buy_mayhem_2026-07-29')).toEqual({
      '2.0': {
        kind: 'decoded',
        event: {
          type: 'trade',
          pool: 'HR8M4iQmzagQ7vUDREycE2XSHuELmiQSFSrCa4eKytn5',
          pair: { baseMint: '4F4gGVBAWuKi3EpmYdhntXvCVFqZZqmrb1cqNGawpump', quoteMint: usdc },
          side: 'buy',
          trader: 'BwWK17cbHxwWBKZkUYvzxLcNQ1YVyaFezduWbtm2de6s',
          baseAmount: 445_377_137_871n,
          quoteAmount: 3_517_192n,
          before: { priceQuote: 9_794_944_560n, priceBase: 1_068_122_876_949_440n },
          reserves: {
            virtualBase: 1_067_677_499_811_569n,
            virtualQuote: 9_798_461_752n,
            realBase: 787_777_499_811_569n,
            realQuote: 25_148_140n,
          },
          fees: { protocol: none, creator: none, lp: none, cashback: none, holderRewards: none, total: 0n },
          supply: null,
          timestamp: 1_785_328_584,
        },
      },
    });
  });

  it('pump_create_from_blocksubscribe_2026-07-29: create_v2 and the creator`s buy, base64', () => {
    expect(view('pump_create_from_blocksubscribe_2026-07-29')).toMatchObject({
      signature: '5EDHe12KqokKkhDLY8n5cs7hYs5g49mNFTMKHARafs9FMVBYcG1rYf7VD4h1zd19G7zaXGNLqqyTsczPXbbafYuZ',
      version: 0,
      feePayer: '5zsxd4pGNCQpwyKiBWZ95nCTPsEPoS62xEGnjpW6FRy7',
      slot: null,
    });
    expect(events('pump_create_from_blocksubscribe_2026-07-29')).toEqual({
      '0': {
        kind: 'decoded',
        event: {
          type: 'created',
          mint: '7YD6ZHb39jGb33ki2iFd7kHK11yMkSFCc9kvjJscpump',
          quoteMint: sol,
          pool: '9hgcsTpZP48Ttku3uhg5gZ388YFCfErayJ5rHSru9PF7',
          name: 'NYXORA',
          symbol: 'NYXORA',
          uri: 'https://ipfs.io/ipfs/bafkreiguttiiufcl24xtnzgxvvonh7b535a3dh6txrjgwax2hyecsyj46i',
          creator: '5zsxd4pGNCQpwyKiBWZ95nCTPsEPoS62xEGnjpW6FRy7',
          platform: null,
          trader: '5zsxd4pGNCQpwyKiBWZ95nCTPsEPoS62xEGnjpW6FRy7',
          tokenProgram: 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
          supply: 1_000_000_000_000_000n,
          decimals: 6,
          reserves: curveStart,
          mayhemMode: false,
          cashback: false,
          holderReward: false,
          creatorFeeBps: 0,
          timestamp: 1_785_328_607,
        },
      },
      '2': {
        kind: 'decoded',
        event: {
          type: 'trade',
          pool: '9hgcsTpZP48Ttku3uhg5gZ388YFCfErayJ5rHSru9PF7',
          pair: { baseMint: '7YD6ZHb39jGb33ki2iFd7kHK11yMkSFCc9kvjJscpump', quoteMint: sol },
          side: 'buy',
          trader: '5zsxd4pGNCQpwyKiBWZ95nCTPsEPoS62xEGnjpW6FRy7',
          baseAmount: 3_520_371_073_923n,
          quoteAmount: 98_750_018n,
          before: { priceQuote: 30_000_000_000n, priceBase: 1_073_000_000_000_000n },
          reserves: {
            virtualBase: 1_069_479_628_926_077n,
            virtualQuote: 30_098_750_018n,
            realBase: 789_579_628_926_077n,
            realQuote: 98_750_018n,
          },
          fees: {
            protocol: { amount: 938_126n, bps: 95 },
            creator: { amount: 296_251n, bps: 30 },
            lp: none,
            cashback: none,
            holderRewards: none,
            total: 1_234_377n,
          },
          supply: null,
          timestamp: 1_785_328_607,
        },
      },
    });
  });

  it('pump_create_v2_and_buy_2026-07-29: a cashback coin, created, extended and bought', () => {
    expect(view('pump_create_v2_and_buy_2026-07-29')).toMatchObject({
      version: 0,
      feePayer: '5htGpHK2oV9g2BcDqLdRBqjCLdy8mc3fsESfR5DU73eM',
      slot: 435_946_190,
    });
    expect(events('pump_create_v2_and_buy_2026-07-29')).toEqual({
      '2': {
        kind: 'decoded',
        event: {
          type: 'created',
          mint: 'CWiTGbCiDd8BKtNYNE2boT9fJGFG2MU53Uf6HQk4pump',
          quoteMint: sol,
          pool: '3jJ83NDorkbFkF1JKbEfFWGeX16aXUiwby9RwJm9kat3',
          name: 'The Ass Statue',
          symbol: 'TAS',
          uri: 'https://meta.uxento.io/data/714b0bec-90cb-4cbb-9598-b7bcbcd3bd06',
          creator: '5htGpHK2oV9g2BcDqLdRBqjCLdy8mc3fsESfR5DU73eM',
          platform: null,
          trader: '5htGpHK2oV9g2BcDqLdRBqjCLdy8mc3fsESfR5DU73eM',
          tokenProgram: 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
          supply: 1_000_000_000_000_000n,
          decimals: 6,
          reserves: curveStart,
          mayhemMode: false,
          cashback: true,
          holderReward: false,
          creatorFeeBps: 0,
          timestamp: 1_785_327_618,
        },
      },
      '3': { kind: 'ignored', name: 'ExtendAccountEvent' },
      '5': {
        kind: 'decoded',
        event: {
          type: 'trade',
          pool: '3jJ83NDorkbFkF1JKbEfFWGeX16aXUiwby9RwJm9kat3',
          pair: { baseMint: 'CWiTGbCiDd8BKtNYNE2boT9fJGFG2MU53Uf6HQk4pump', quoteMint: sol },
          side: 'buy',
          trader: '5htGpHK2oV9g2BcDqLdRBqjCLdy8mc3fsESfR5DU73eM',
          baseAmount: 96_449_438_144_093n,
          quoteAmount: 2_962_962_962n,
          before: { priceQuote: 30_000_000_000n, priceBase: 1_073_000_000_000_000n },
          reserves: {
            virtualBase: 976_550_561_855_907n,
            virtualQuote: 32_962_962_962n,
            realBase: 696_650_561_855_907n,
            realQuote: 2_962_962_962n,
          },
          fees: {
            protocol: { amount: 28_148_149n, bps: 95 },
            creator: none,
            lp: none,
            cashback: { amount: 8_888_889n, bps: 30 },
            holderRewards: none,
            total: 37_037_038n,
          },
          supply: null,
          timestamp: 1_785_327_618,
        },
      },
    });
  });

  it('transactions of other venues contain no event of ours', () => {
    expect(events('meteora_damm_v2_swap_2025-10-25')).toEqual({});
  });
});

describe.skipIf(!fixturesPresent)(`every transaction (${fixturesNote})`, () => {
  for (const file of fixtureNames('transactions')) {
    const name = file.replace(/\.json$/, '');
    it(`${name}: the logs and the inner instructions give the same events at the same paths`, () => {
      const transaction = view(name);
      const logged = fromLogs(transaction).filter(({ programId }) => eventAuthorities.has(programId));
      const logs = (programId: string): boolean => venueByProgram.get(programId)!.records.logged;
      expect(fromInner(transaction).filter(({ programId }) => logs(programId))).toEqual(logged);
      if (name.startsWith('pump')) expect(logged.length).toBeGreaterThan(0);
    });
  }

  it('the raw bytes of blockSubscribe decode, and their signatures are those of the message', () => {
    const [text] = fixtureTransaction('pump_create_from_blocksubscribe_2026-07-29')['transaction'] as [string];
    const decoded = decodeTransaction(Buffer.from(text, 'base64'));
    if (decoded.kind === 'malformed') throw new Error(decoded.reason);
    expect(decoded.signatures).toHaveLength(2);
    for (const [index, signature] of decoded.signatures.entries()) {
      expect(verifySignature(decoded.accountKeys[index]!, decoded.messageBytes, decodeBase58(signature)!)).toBe(true);
    }
  });
});

/** Lamports that the trader sent by system transfers inside one instruction, to each account. */
function sentWithin(name: string, top: number, from: number, trader: string): bigint[] {
  const raw = fixtureTransaction(name)['meta'] as {
    innerInstructions: { index: number; instructions: { parsed?: { type: string; info: Record<string, unknown> } }[] }[];
  };
  const parsed = raw.innerInstructions.find(({ index }) => index === top)!.instructions;
  const list = view(name).inner!.get(top)!;
  return list.slice(from).flatMap((instruction, offset) => {
    const json = parsed[from + offset]!.parsed;
    if (json?.type === 'transfer' && json.info['source'] === trader) return [BigInt(json.info['lamports'] as number)];
    const { programId, data, accounts } = instruction;
    if (programId !== systemProgram || data.length !== 12 || data[0] !== 2 || accounts[0] !== trader) return [];
    return [Buffer.from(data).readBigUInt64LE(4)];
  });
}

describe.skipIf(!fixturesPresent)(`what the buyer paid (${fixturesNote})`, () => {
  // The 890,880 lamports in the third case are the rent of the creator's vault, made by this trade.
  const cases = [
    { name: 'pump_buy_legacy_2026-10-08', path: '3.0', top: 3, from: 1, rent: 0n, paid: 10_000_000n },
    { name: 'pump_create_v2_and_buy_2026-07-29', path: '5', top: 5, from: 0, rent: 0n, paid: 3_000_000_000n },
    { name: 'pump_create_from_blocksubscribe_2026-07-29', path: '2', top: 2, from: 0, rent: 890_880n, paid: 99_984_395n },
  ];
  for (const { name, path, top, from, rent, paid } of cases) {
    it(`${name}: amount and total fees are exactly the lamports that left the wallet`, () => {
      const decoded = events(name)[path]!;
      const trade = (decoded.kind === 'decoded' ? decoded.event : null) as PlainTrade;
      expect(trade.quoteAmount + trade.fees.total).toBe(paid);
      const sent = sentWithin(name, top, from, trade.trader);
      expect(sent.reduce((sum, lamports) => sum + lamports, 0n) - rent).toBe(paid);
      expect(sent).toContain(trade.quoteAmount);
      const { protocol, creator, cashback, holderRewards, lp, total } = trade.fees;
      expect(protocol.amount + creator.amount + cashback.amount + holderRewards.amount + lp.amount).toBe(total);
    });
  }

  it('pump is the program of all of them', () => {
    for (const { name } of cases) expect(fromLogs(view(name)).every(({ programId }) => programId === pumpId)).toBe(true);
  });
});
