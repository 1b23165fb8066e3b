import { EventView } from '@sluice/shared/codec/event-view.ts';
import { describe, expect, it } from 'vitest';
import { Value } from 'typebox/value';
import { addressBytes } from '@sluice/shared/solana/addresses/pda.ts';
import { token2022Program, tokenProgram, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { eventSchemas, type PriceEvent } from '@sluice/shared/wire/events/events.ts';
import { encodeEvent } from '@sluice/shared/codec/encode-event.ts';
import { tokenTrade, tradeEvent, tradePrice, type TokenTrade } from '../../ingest/src/pipeline/normalize.ts';
import { stateOfSqrtPrice } from '@sluice/venues/kit/concentrated.ts';
import { depthOfReserves } from '@sluice/shared/market/pools/depth-share.ts';
import { stateOfReserves } from '@sluice/venues/kit/constant-product.ts';
import { createHarness, type Harness } from './harness.ts';
import { until } from '../support/until.ts';
import {
  addressOf,
  ammProgram,
  ammTradeEventBytes,
  boostBuyEventBytes,
  completeEventBytes,
  createPoolEventBytes,
  curveAccountBytes,
  initBoostEventBytes,
  keyOf,
  migrationEventBytes,
  mintAccountBytes,
  poolAccountBytes,
  postCompleteBuyEventBytes,
  pumpProgram,
  signatureOf,
  tokenAccountBytes,
  virtualReservesEventBytes,
} from './pump-frames.ts';
import { curveAddress, mint, mintAddress, take } from './some-coin.ts';
import { curveBuy } from './some-trades.ts';
import { accountAnswers, accountJson } from './scripted-node.ts';
import { unpack } from '../support/clients/msgpack.ts';

const curve = addressBytes(curveAddress);
const noRates = { solUsd: null, solUsdAt: null, coins: new Map() };
const trader = keyOf('trader');
const pool = keyOf('pool');
const poolAddress = addressOf('pool');
const sol = addressBytes(wrappedSolMint);
const timestamp = 1_791_485_924;

/** Leaves 999 tokens and 2.004 SOL in the vaults (0.004 of the LP fee). */
const ammBuy = (overrides: Partial<Parameters<typeof ammTradeEventBytes>[0]> = {}): Buffer =>
  ammTradeEventBytes({
    side: 'buy',
    pool,
    trader,
    baseAmount: 1_000_000n,
    quoteAmount: 2_000_000_000n,
    baseBefore: 1_000_000_000n,
    quoteBefore: 2_000_000_000_000n,
    supply: 5_000_000_000n,
    timestamp,
    ...overrides,
  });

function account(harness: Harness, address: string, owner: string, data: Uint8Array, slot: number): void {
  harness.pipeline.takeAccount({ address, owner, data, slot, receivedUs: Date.now() * 1000 });
  harness.pipeline.ticks.release(0);
}

const kinds = (harness: Harness): string[] => harness.events.map((event) => event.type);
const lastPrice = (harness: Harness): PriceEvent => harness.events.findLast((event) => event.type === 'price') as PriceEvent;

describe('a boosted pool', () => {
  const opened = createPoolEventBytes(pool, mint, 1_000_000_000n, 100_000_000_000n, timestamp);

  it('is published with the reserves after the boost; its tokens did not move', () => {
    const harness = createHarness();
    const boost = initBoostEventBytes({ mint, pool, virtualQuote: 20_690_000_000n, realQuote: 79_310_000_000n, timestamp: 77 });
    const signature = take(harness, ammProgram, [opened, boost]);
    expect(kinds(harness)).toEqual(['poolCreated', 'price']);
    expect(lastPrice(harness)).toMatchObject({
      id: `${signature}:0+1.price`,
      signature,
      mint: mintAddress,
      pool: 'pump-amm',
      poolAddress,
      blockTime: 77,
      source: 'account',
      priceSol: 0.1,
      reserves: { virtualBase: '1000000000', virtualQuote: '100000000000', realBase: '1000000000', realQuote: '79310000000' },
    });
  });

  it('is published when its boost buys and burns: price and supply', async () => {
    const accounts = new Map([
      [poolAddress, accountJson(ammProgram, poolAccountBytes(mint, sol))],
      [mintAddress, accountJson(tokenProgram, mintAccountBytes(6, 1n))],
    ]);
    const harness = createHarness({ accounts });
    take(harness, ammProgram, [ammBuy()]);
    const parts = { mint, pool, virtualQuote: 400_000_000_000n, realQuote: 2_600_000_000_000n, timestamp };
    const signature = take(harness, ammProgram, [boostBuyEventBytes({ ...parts, burned: 1_000_000_000n, realBase: 500_000_000n })]);
    await until('all was published', () => harness.events.length === 3);
    expect(lastPrice(harness)).toMatchObject({
      id: `${signature}:0.price`,
      source: 'account',
      priceSol: 6,
      marketCapSol: 8_000,
      reserves: { virtualBase: '500000000', virtualQuote: '3000000000000', realBase: '500000000', realQuote: '2600000000000' },
    });
    expect(harness.pipeline.decoder.counts.get('pump-amm')).toMatchObject({ decoded: 2, ignored: 0 });
  });

  it("is not published if the boost's tokens are unknown, and that is counted", async () => {
    const accounts = new Map([
      [poolAddress, accountJson(ammProgram, poolAccountBytes(mint, sol))],
      [mintAddress, accountJson(tokenProgram, mintAccountBytes(6, 1n))],
    ]);
    const harness = createHarness({ accounts });
    take(harness, ammProgram, [initBoostEventBytes({ mint, pool, virtualQuote: 1n, realQuote: 2n, timestamp })]);
    await until('it was counted', () => harness.pipeline.emitter.counts.unpublishedChanges === 1);
    expect(harness.events).toEqual([]);
  });
});

describe('the account of a pool', () => {
  const [baseVault, quoteVault] = [keyOf('base vault'), keyOf('quote vault')];
  const vaults = [baseVault, quoteVault] as const;
  const poolJson = (virtualQuote: bigint): unknown =>
    accountJson(ammProgram, poolAccountBytes(mint, sol, { vaults, virtualQuote: BigInt.asUintN(64, virtualQuote) }));
  const vaultJson = (of: Uint8Array, owner: Uint8Array, amount: bigint): unknown =>
    accountJson(tokenProgram, tokenAccountBytes(of, owner, amount));

  async function traded(): Promise<{ harness: Harness; accounts: Map<string, unknown> }> {
    const accounts = new Map([
      [poolAddress, poolJson(0n)],
      [mintAddress, accountJson(tokenProgram, mintAccountBytes(6, 1n))],
    ]);
    const answers = accountAnswers(accounts, 105);
    const harness = createHarness({
      answer: (method, params) => {
        const answer = answers(method, params);
        return answer === 'silence' || 'error' in answer ? undefined : answer.result;
      },
    });
    take(harness, ammProgram, [ammBuy()]);
    await until('the trade was published', () => harness.events.length === 2);
    harness.calls.length = 0;
    return { harness, accounts };
  }

  const changed = (harness: Harness, virtualQuote: bigint, slot: number): void =>
    account(harness, poolAddress, ammProgram, poolAccountBytes(mint, sol, { vaults, virtualQuote }), slot);

  it('is published with its vaults, read in one call, if no trade showed its slot', async () => {
    const { harness, accounts } = await traded();
    accounts.set(poolAddress, poolJson(300_000_000_000n));
    accounts.set(addressOf('base vault'), vaultJson(mint, pool, 500_000_000n));
    accounts.set(addressOf('quote vault'), vaultJson(sol, pool, 1_700_000_000_000n));
    changed(harness, 300_000_000_000n, 101);
    await until('it was published', () => harness.events.length === 3);
    expect(harness.calls).toMatchObject([
      { method: 'getMultipleAccounts', params: [[poolAddress, addressOf('base vault'), addressOf('quote vault')], {}] },
    ]);
    expect(lastPrice(harness)).toMatchObject({
      signature: null,
      slot: 105,
      source: 'account',
      priceSol: 4,
      reserves: { virtualBase: '500000000', virtualQuote: '2000000000000', realBase: '500000000', realQuote: '1700000000000' },
    });
  });

  it('is not published in the slot of a trade, nor if nothing that affects the price changed', async () => {
    const { harness, accounts } = await traded();
    changed(harness, 5n, 100);
    expect(harness.calls).toEqual([]);
    // Waiting fees were swept out of the vault; the same amount was added to the virtual part.
    const { virtualQuote, realBase } = lastPrice(harness).reserves!;
    accounts.set(poolAddress, poolJson(1_000n));
    accounts.set(addressOf('base vault'), vaultJson(mint, pool, BigInt(realBase)));
    accounts.set(addressOf('quote vault'), vaultJson(sol, pool, BigInt(virtualQuote) - 1_000n));
    changed(harness, 1_000n, 101);
    await until('it was read', () => harness.calls.length === 1);
    await until('the reading was judged', () => harness.pipeline.ticks.reads === 0);
    expect(kinds(harness)).toEqual(['trade', 'price']);
    expect(harness.pipeline.emitter.counts.unpublishedChanges).toBe(0);
  });

  it('is not read from a node that is still behind', async () => {
    const { harness, accounts } = await traded();
    accounts.set(addressOf('base vault'), vaultJson(mint, pool, 500_000_000n));
    accounts.set(addressOf('quote vault'), vaultJson(sol, pool, 1_700_000_000_000n));
    changed(harness, 5n, 106);
    await until('it was counted', () => harness.pipeline.emitter.counts.unpublishedChanges === 1);
    expect(harness.calls.length).toBeGreaterThan(1);
    expect(kinds(harness)).toEqual(['trade', 'price']);
  });

  it('is not published if its vaults are missing or have another owner, and that is counted', async () => {
    const { harness, accounts } = await traded();
    accounts.set(addressOf('base vault'), vaultJson(mint, keyOf('thief'), 5n));
    accounts.set(addressOf('quote vault'), vaultJson(sol, pool, 5n));
    changed(harness, 5n, 101);
    await until('it was counted', () => harness.pipeline.emitter.counts.unpublishedChanges === 1);
    accounts.delete(addressOf('base vault'));
    changed(harness, 6n, 102);
    await until('it was counted', () => harness.pipeline.emitter.counts.unpublishedChanges === 2);
    account(harness, addressOf('other pool'), ammProgram, poolAccountBytes(keyOf('other'), sol), 103);
    expect(harness.pipeline.emitter.counts.unpublishedChanges).toBe(3);
    expect(kinds(harness)).toEqual(['trade', 'price']);
  });
});

describe('the account of a curve whose coin is unknown', () => {
  const tokens = (...mints: readonly Uint8Array[]) => ({
    context: { slot: 1 },
    value: mints.map((of) => ({ account: accountJson(token2022Program, Buffer.from(of)), pubkey: addressOf('some account') })),
  });

  it('is published with the coin that its own token account names, and no other', async () => {
    const harness = createHarness({
      answer: (method, params) =>
        method === 'getTokenAccountsByOwner'
          ? tokens(...(JSON.stringify(params).includes(token2022Program) ? [keyOf('junk'), mint] : []))
          : undefined,
    });
    account(harness, curveAddress, pumpProgram, curveAccountBytes(10n ** 15n, 32_000_000_000n), 7);
    await until('it was published', () => harness.events.length === 1);
    expect(lastPrice(harness)).toMatchObject({ mint: mintAddress, poolAddress: curveAddress, priceSol: 3.2e-8, marketCapSol: 32, slot: 7 });
    expect(harness.calls.every(({ params }) => params[0] === curveAddress)).toBe(true);
  });

  it('is counted if the coin cannot be found, and looked up once', async () => {
    const harness = createHarness({ answer: (method) => (method === 'getTokenAccountsByOwner' ? tokens(keyOf('junk')) : undefined) });
    account(harness, curveAddress, pumpProgram, curveAccountBytes(10n ** 15n, 32_000_000_000n), 7);
    await until('it was counted', () => harness.pipeline.emitter.counts.unpublishedChanges === 1);
    account(harness, curveAddress, pumpProgram, curveAccountBytes(10n ** 15n, 33_000_000_000n), 8);
    await until('it was counted', () => harness.pipeline.emitter.counts.unpublishedChanges === 2);
    expect(harness.calls).toHaveLength(2); // one for each token program
    expect(harness.events).toEqual([]);
  });

  it('waits for a trade if there are too many such curves', async () => {
    const harness = createHarness({ answer: (method) => (method === 'getTokenAccountsByOwner' ? tokens() : undefined) });
    for (let n = 0; n < 50; n++) {
      const state = { address: addressOf(`curve ${n}`), owner: pumpProgram, data: curveAccountBytes(10n ** 15n), slot: 7, receivedUs: 1 };
      harness.pipeline.takeAccount(state);
    }
    harness.pipeline.ticks.release(0);
    await until('all were counted', () => harness.pipeline.emitter.counts.unpublishedChanges === 50);
    expect(harness.calls.length).toBeLessThanOrEqual(16);
  });
});

describe('reserves without a price', () => {
  it('wait for the account of a mayhem coin whose event lacks the quote, and are not malformed', () => {
    const harness = createHarness();
    take(harness, pumpProgram, [curveBuy()]);
    take(harness, pumpProgram, [virtualReservesEventBytes(mint, 10n ** 15n, 0n, timestamp)], { slot: 101 });
    expect(kinds(harness)).toEqual(['trade', 'price']);
    expect(harness.faults).toEqual([]);
    account(harness, curveAddress, pumpProgram, curveAccountBytes(10n ** 15n, 50_000_000_000n), 101);
    expect(lastPrice(harness)).toMatchObject({ source: 'account', slot: 101, priceSol: 5e-8 });
    // The next trade follows from the new reserves.
    take(harness, pumpProgram, [curveBuy({ virtualToken: 10n ** 15n - 34_612_903_225_806n })], { slot: 102 });
    expect(harness.pipeline.emitter.counts.discontinuities).toBe(0);
  });

  it('are null in the event, without a price event', () => {
    const harness = createHarness();
    const nothing = migrationEventBytes({ mint, curve, pool, baseAmount: 0n, quoteAmount: 5n, fee: 0n, timestamp });
    take(harness, pumpProgram, [nothing]);
    expect(harness.events).toMatchObject([{ type: 'migration', priceQuote: null, priceSol: null, priceUsd: null, marketCapSol: null }]);
  });

  it('give a trade without a price, in both encodings and in the schema, if its amounts give none either', () => {
    const seen = {
      signature: signatureOf('s'),
      slot: 1,
      commitment: 'processed',
      receivedUs: 1,
      feePayer: null,
      blockTime: 1,
      index: null,
      tokenBalances: null,
      late: false,
    } as const;
    const market = {
      venue: 'pump',
      poolAddress: curveAddress,
      mint: mintAddress,
      baseDecimals: 6,
      quoteMint: wrappedSolMint,
      quoteDecimals: 9,
      supply: 10n ** 15n,
    } as const;
    const state = stateOfReserves({ virtualBase: 0n, virtualQuote: 5n, realBase: 0n, realQuote: 5n });
    const amounts = { baseAmount: 10n ** 6n, quoteAmount: 2n * 10n ** 9n };
    const rest = { before: null, fees: [], feeTotal: 0n, timestamp };
    const trade: TokenTrade = { side: 'buy', trader: addressOf('trader'), ...amounts, ...state, ...rest };
    const priceless = tradeEvent(seen, '0', market, trade, noRates, false);
    expect(priceless).toMatchObject({ priceQuote: null, priceSol: null, priceUsd: null, marketCapSol: null, marketCapUsd: null });
    expect(tradePrice(priceless, noRates)).toBeNull();
    expect([...Value.Errors(eventSchemas.trade, priceless)]).toEqual([]);
    const { json, msgpack } = new EventView(encodeEvent(priceless));
    expect(JSON.parse(Buffer.from(json).toString())).toEqual(priceless);
    expect(unpack(msgpack)).toEqual(priceless);

    // The balance of the trader, where the source shows it.
    const held = { account: addressOf('account'), mint: mintAddress, decimals: 6, owner: addressOf('trader'), before: 9n, after: 0n };
    const balanceWith = (...tokenBalances: (typeof held | (Omit<typeof held, 'owner'> & { owner: null }))[]) =>
      tradeEvent({ ...seen, tokenBalances }, '0', market, trade, noRates, false).traderBalance;
    expect(priceless).not.toHaveProperty('traderBalance');
    expect(balanceWith(held)).toBe('0');
    expect(balanceWith(held, { ...held, account: addressOf('second'), after: 7n })).toBe('7');
    const ofOthers = [
      { ...held, owner: addressOf('other') },
      { ...held, mint: addressOf('other') },
      { ...held, owner: null },
    ];
    expect(balanceWith(...ofOthers)).toBeUndefined();
  });
});

describe('the depth of a pool', () => {
  const origin = {
    signature: signatureOf('s'),
    slot: 1,
    commitment: 'processed',
    receivedUs: 1,
    feePayer: null,
    blockTime: 1,
    index: null,
  } as const;
  const seen = { ...origin, tokenBalances: null, late: false };
  const place = { venue: 'orca-whirlpool', poolAddress: addressOf('pool'), mint: mintAddress, quoteMint: wrappedSolMint } as const;
  const market = { ...place, baseDecimals: 6, quoteDecimals: 9, supply: null };
  // 2 raw B for one raw A. Sellers of A receive 10^10 × √2 × (1 − √0.99) raw B until the price has fallen by 1 %.
  const state = stateOfSqrtPrice(((1n << 64n) * 141_421_356n) / 100_000_000n, 10_000n * 10n ** 6n);
  const amounts = { baseAmount: 1_000n, quoteAmount: 2_000n, fees: [], feeTotal: 0n } as const;
  const unknown = { pair: null, before: null, supply: null } as const;
  const swap = { type: 'trade', pool: place.poolAddress, ...unknown, side: 'sell', timestamp } as const;
  const published = (flipped: boolean) => {
    const trade = tokenTrade({ ...swap, trader: addressOf('trader'), ...amounts, ...state }, flipped);
    const made = tradeEvent(seen, '0', market, trade, noRates, false);
    return [made, tradePrice(made, noRates)!] as const;
  };

  it('is published where reserves do not determine it, in the coin of the price', () => {
    const share = 1 - Math.sqrt(0.99);
    for (const [flipped, expected] of [
      [false, 1e10 * Math.SQRT2 * share],
      [true, (1e10 / Math.SQRT2) * share],
    ] as const) {
      for (const event of published(flipped)) {
        expect(event.reserves).toBeNull();
        expect(Number(event.depth) / expected).toBeCloseTo(1, 6);
        expect([...Value.Errors(eventSchemas[event.type], event)]).toEqual([]);
        expect(JSON.parse(Buffer.from(new EventView(encodeEvent(event)).json).toString())).toEqual(event);
      }
    }
  });

  it('agrees between the two kinds of pools where they have the same liquidity and price', () => {
    // A constant product with the reserves x and y has the liquidity √(x·y) at every price.
    const [made] = published(false);
    const quote = 1e10 * Math.SQRT2;
    expect(depthOfReserves(quote, quote) / Number(made.depth)).toBeCloseTo(1, 6);
    expect(depthOfReserves(quote, 5)).toBe(5);
  });
});

describe('the buy that empties a curve', () => {
  it('continues into its pool without a missing trade', () => {
    const harness = createHarness();
    take(harness, pumpProgram, [curveBuy({ virtualToken: 280_900_000_000_000n })], { slot: 99 });
    const end = curveBuy({ virtualToken: 279_900_000_000_000n, tokenAmount: 1_000_000_000_000n });
    const beyond = postCompleteBuyEventBytes({
      mint,
      curve,
      trader,
      baseAmount: 1_000_000_000n,
      baseBefore: 206_900_000_000_000n,
      quoteBefore: 85_000_000_000n,
      quoteAfter: 85_000_412_000n,
      timestamp,
    });
    take(harness, pumpProgram, [end, completeEventBytes(mint, curve, trader, timestamp), beyond]);
    expect(kinds(harness)).toEqual(['trade', 'price', 'trade', 'price', 'trade', 'price']);
    expect(harness.events.map((event) => 'curveCompleted' in event)).toEqual([false, false, true, false, false, false]);
    expect(harness.pipeline.emitter.counts.discontinuities).toBe(0);
  });
});
