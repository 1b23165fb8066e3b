import { TokenNames } from '@sluice/gateway/reads/tokens/token-names.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Bucket } from '@sluice/shared/market/market.ts';
import { addressBytes } from '@sluice/shared/solana/addresses/pda.ts';
import { canonicalPoolAddress } from '@sluice/venues/pump/amm/program.ts';
import { bondingCurveAddress } from '@sluice/venues/pump/curve/program.ts';
import { tokenProgram, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import type { PriceEvent, TradeEvent } from '@sluice/shared/wire/events/events.ts';
import { maxTokenPools } from '@sluice/shared/wire/rest/tokens/token.ts';
import { alice, launch, quietChain } from '../simnet/support/test-chain.ts';
import { addressOf, jsonOf, migrationEvent, newTokenEvent, priceEvent, tradeEvent } from '../support/events/stream-events.ts';
import { pumpPortalEvent } from '../../gateway/src/stream/dialects/pumpportal-events.ts';
import { until } from '../support/gateway.ts';
import { BookHarness, type NodeAccount } from './harness.ts';

const chain = quietChain();
const mint = launch(chain);
const curve = bondingCurveAddress(mint);
let harness: BookHarness;
beforeEach(() => {
  harness = new BookHarness(chain);
});

const nowS = (): number => Math.floor(Date.now() / 1000);

function trade(changes: Partial<TradeEvent> = {}): TradeEvent {
  return tradeEvent(mint, { poolAddress: curve, slot: chain.slot + 1, blockTime: nowS(), ...changes });
}

function price(changes: Partial<PriceEvent> = {}): PriceEvent {
  return priceEvent(mint, { poolAddress: curve, slot: chain.slot + 1, ...changes });
}

function minute(startS: number, buys: number, volumeSol: number): Bucket {
  const prices = { open: 1, high: 1, low: 1, close: 1, openUsd: null, highUsd: null, lowUsd: null, closeUsd: null };
  return { startS, ...prices, volumeBase: 1, volumeQuote: 1, volumeSol, volumeUsd: 0, buys, sells: 0 };
}

describe('a cold token', () => {
  it('costs one call for all concurrent requests, and none afterwards', async () => {
    const outcomes = await Promise.all(Array.from({ length: 1_000 }, async () => harness.book.find(mint)));
    expect(outcomes.every(({ ok }) => ok)).toBe(true);
    expect(harness.node.calls).toBe(1);
    expect(harness.book.counters).toMatchObject({ loads: 1, shared: 999 });
    expect(harness.book.find(mint)).not.toBeInstanceOf(Promise);
    expect(harness.node.calls).toBe(1);
  });

  it('is refused for a while if it is not a mint, until the stream shows it', async () => {
    const nobody = addressOf(4_711);
    for (let turn = 0; turn < 5; turn++) expect(await harness.book.find(nobody)).toEqual({ ok: false, reason: 'no_mint' });
    for (let turn = 0; turn < 5; turn++) expect(await harness.book.find(alice.publicKey)).toEqual({ ok: false, reason: 'no_mint' });
    expect(harness.node.calls).toBe(2);
    harness.append(newTokenEvent(nobody));
    // The stream is newer than the answer of the node.
    expect(await harness.book.find(nobody)).toMatchObject({ ok: false, reason: 'unavailable' });
    expect(harness.node.calls).toBe(3);
  });

  it('is unavailable while no node answers, and read afterwards', async () => {
    harness.node.unavailable = true;
    expect(await harness.book.find(mint)).toMatchObject({ ok: false, reason: 'unavailable' });
    harness.node.unavailable = false;
    expect(await harness.book.find(mint)).toMatchObject({ ok: true });
  });
});

describe('the names of tokens', () => {
  it('are found by a part of symbol, name or mint: exact symbols first, then the newest, and no retracted ones', async () => {
    const create = (n: number, symbol: string, name: string) => {
      const event = { ...newTokenEvent(addressOf(n)), symbol, name };
      harness.append(event);
      return event;
    };
    const [first, second, third] = [create(1, 'DOG', 'One'), create(2, 'CAT', 'not a dog'), create(3, 'DOGE', 'Two')];
    const found = (text: string, limit = 10) => harness.book.names.find(text, limit).map((token) => token.mint);
    expect(found('dog')).toEqual([first.mint, third.mint, second.mint]);
    expect(found('dog', 2)).toEqual([first.mint, third.mint]);
    expect(found(second.mint)).toEqual([second.mint]);
    expect(harness.book.names.find('cat', 1)).toEqual([
      { mint: second.mint, symbol: 'CAT', name: 'not a dog', createdAtMs: Math.floor(second.ts.received / 1_000) },
    ]);
    // One that was requested: its creation is unknown.
    const { symbol } = await harness.info(mint);
    expect(harness.book.names.find(symbol!, 1)).toEqual([expect.objectContaining({ mint, createdAtMs: null })]);
    harness.append({ type: 'retract', id: first.id }, ['newTokens']);
    expect(found('dog')).toEqual([third.mint, second.mint]);
  });

  it('are forgotten above a number, those that were learned first', () => {
    const names = new TokenNames(2);
    for (const symbol of ['A1', 'A2', 'A3']) names.learn(symbol, { symbol, name: null }, null);
    expect(names.find('a', 9).map((token) => token.mint)).toEqual(['A3', 'A2']);
  });
});

describe('a warm token', () => {
  it('follows the prices of its main pool, newer ones only', async () => {
    const cold = await harness.info(mint);
    expect(cold).toMatchObject({ venue: 'pump', poolAddress: curve, priceNullReason: null, priceSlot: chain.slot });
    harness.append(price({ priceQuote: 5e-8, priceSol: 5e-8 }));
    expect(await harness.lasting(mint)).toMatchObject({ priceSol: 5e-8, priceUsd: 5e-8 * 150, priceSlot: chain.slot + 1 });
    harness.append(price({ priceQuote: 6e-8, slot: chain.slot }));
    harness.append(price({ priceQuote: 7e-8, poolAddress: addressOf(1), pool: 'pump-amm', slot: chain.slot + 9 }));
    expect((await harness.info(mint)).priceSol).toBe(5e-8);
    expect(harness.node.calls).toBe(1);
  });

  it('has the newest confirmed price besides the newest one, also after it was read again', async () => {
    const confirmed = async () => (await harness.info(mint)).confirmedPrice;
    expect(await confirmed()).toBeNull();
    for (const later of [1, 2, 3]) harness.append(price({ slot: chain.slot + later, priceQuote: Number(`${later}e-8`) }));
    expect(await confirmed()).toBeNull();
    harness.slots.take({ alive: [chain.slot + 1], dead: [] });
    expect(await confirmed()).toEqual({ priceQuote: 1e-8, priceSol: 1e-8, priceUsd: 1e-8 * 150, slot: chain.slot + 1 });
    // A dead slot is passed over. Its events are retracted, and the token is read again.
    harness.slots.take({ alive: [chain.slot + 3], dead: [chain.slot + 2] });
    expect(await confirmed()).toMatchObject({ priceQuote: 3e-8, slot: chain.slot + 3 });
    harness.summary = { ...harness.summary, price: jsonOf(price({ slot: chain.slot + 3, priceQuote: 3e-8 })) };
    harness.book.onLost(harness.offset);
    expect(await confirmed()).toMatchObject({ priceQuote: 3e-8, slot: chain.slot + 3 });
    expect(await harness.info(mint)).toMatchObject({ priceQuote: 3e-8 });
  });

  it('gives the dialect of PumpPortal its true supply', async () => {
    const event = trade({ pool: 'orca-whirlpool', marketCapSol: null, priceSol: 2e-8, baseDecimals: 6 });
    expect(harness.book.supplyOf(mint)).toBeNull();
    const { supply } = await harness.info(mint);
    expect(harness.book.supplyOf(mint)).toBe(BigInt(supply));
    // Not the usual one.
    expect(pumpPortalEvent(event, () => 500_000_000n)).toMatchObject({ marketCapSol: 1e-5 });
  });

  it('accepts events after a read, at any slot that the node claimed', async () => {
    harness.node.slot = chain.slot + 200;
    await harness.info(mint);
    const lateUs = (Date.now() + 3_000) * 1000;
    harness.append(price({ priceQuote: 5e-8, ts: { received: lateUs, published: lateUs } }));
    harness.clock.suspend(3_000);
    expect((await harness.lasting(mint)).priceSol).toBe(5e-8);
  });

  it('has no price between the end of its curve and its pool', async () => {
    await harness.info(mint);
    harness.append(trade({ curveCompleted: true }));
    expect(await harness.info(mint)).toMatchObject({
      priceSol: null,
      priceNullReason: 'no_liquidity',
      marketCapSol: null,
      liquiditySol: null,
      curve: { complete: true, progressPercent: 100 },
    });
    const pool = canonicalPoolAddress(mint, wrappedSolMint);
    harness.append(migrationEvent(mint, { poolAddress: pool, slot: chain.slot + 2, priceQuote: 4e-7 }));
    expect(await harness.lasting(mint)).toMatchObject({ venue: 'pump-amm', poolAddress: pool, priceSol: 4e-7, priceNullReason: null });
    harness.append(price({ pool: 'pump-amm', poolAddress: pool, slot: chain.slot + 3, priceQuote: 4.5e-7 }));
    expect(await harness.lasting(mint)).toMatchObject({ priceSol: 4.5e-7 });
  });

  it('lists its pools: the main one first, others by their own prices, the shallow ones of a flood not at all', async () => {
    const cold = await harness.info(mint);
    const { priceQuote, priceSol, priceUsd, liquiditySol, liquidityUsd, priceSlot } = cold;
    const main = { venue: 'pump', poolAddress: curve, quoteMint: wrappedSolMint, slot: priceSlot };
    expect(cold.pools).toEqual([{ ...main, priceQuote, priceSol, priceUsd, liquiditySol, liquidityUsd }]);
    const held = (sol: number) => `${sol}000000000`;
    const reserves = (sol: number) => ({ virtualBase: '1', virtualQuote: held(sol), realBase: '1', realQuote: held(sol) });
    const other = { pool: 'pump-amm', slot: chain.slot + 2 } as const;
    harness.append(price({ ...other, poolAddress: addressOf(1), priceQuote: 7e-8, reserves: reserves(3) }));
    harness.append(price({ ...other, poolAddress: addressOf(2), priceQuote: 8e-8, reserves: reserves(40) }));
    // Older than what is known.
    harness.append(price({ ...other, slot: chain.slot + 1, poolAddress: addressOf(2), priceQuote: 9e-8, reserves: reserves(1) }));
    const { pools } = await harness.info(mint);
    expect(pools.map(({ poolAddress }) => poolAddress)).toEqual([curve, addressOf(2), addressOf(1)]);
    expect(pools[1]).toMatchObject({ venue: 'pump-amm', slot: other.slot, priceSol: 8e-8, priceUsd: 8e-8 * 150, liquiditySol: 40 });
    for (let each = 0; each < 50; each++) harness.append(price({ ...other, poolAddress: addressOf(100 + each), reserves: reserves(2) }));
    const flooded = (await harness.info(mint)).pools;
    expect(flooded.length).toBe(maxTokenPools);
    expect(flooded.slice(0, 3).map(({ poolAddress }) => poolAddress)).toEqual([curve, addressOf(2), addressOf(1)]);
    harness.append(trade({ curveCompleted: true, slot: chain.slot + 3 }));
    expect((await harness.info(mint)).pools[0]).toMatchObject({ poolAddress: curve, priceQuote: null, liquiditySol: null });
    harness.linkUp = false;
    expect((await harness.info(mint)).pools[1]).toMatchObject({ poolAddress: addressOf(2), priceQuote: null, liquidityUsd: null });
  });

  it('is rendered once in a quarter of a second', async () => {
    const outcome = await harness.book.find(mint);
    if (!outcome.ok) throw new Error('cold');
    const { clock } = harness;
    const first = harness.book.render(outcome.token);
    clock.suspend(249);
    expect(harness.book.render(outcome.token)).toBe(first);
    clock.suspend(1);
    const second = harness.book.render(outcome.token);
    expect(second).not.toBe(first);
    expect(JSON.parse(second.toString())).toMatchObject({ asOfMs: clock.wallMs() });
  });

  it('is read again in the background after a minute, once', async () => {
    await harness.info(mint);
    const outcome = await harness.book.find(mint);
    if (!outcome.ok) throw new Error('cold');
    harness.clock.jump(86_400_000);
    harness.book.refreshIfDue(outcome.token);
    expect(harness.book.counters.refreshes).toBe(0);
    harness.clock.suspend(61_000);
    harness.book.refreshIfDue(outcome.token);
    harness.book.refreshIfDue(outcome.token);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(harness.node.calls).toBe(2);
    expect(harness.book.counters.refreshes).toBe(1);
  });

  it('is dropped when one of its events is retracted', async () => {
    await harness.info(mint);
    harness.append({ type: 'retract', id: 'x:1' }, [`trades:${mint}`]);
    expect(harness.book.size).toBe(0);
  });

  it('is dropped when its migration is retracted, and a retracted creation is forgotten', async () => {
    await harness.info(mint);
    const migration = migrationEvent(mint, { slot: chain.slot + 2 });
    harness.append(migration);
    expect(harness.book.size).toBe(1);
    harness.append({ type: 'retract', id: migration.id }, ['migrations']);
    expect(harness.book.size).toBe(0);
    const nobody = addressOf(4_712);
    const creation = newTokenEvent(nobody);
    harness.append(creation);
    harness.append({ type: 'retract', id: creation.id }, ['newTokens']);
    expect(await harness.book.find(nobody)).toEqual({ ok: false, reason: 'no_mint' });
  });

  it('ignores a price that is older than its state, at any time of arrival', async () => {
    await harness.info(mint);
    const { priceSol } = await harness.info(mint);
    const lateUs = (Date.now() + 3_000) * 1000;
    harness.append(price({ priceQuote: 5e-8, slot: chain.slot - 9, late: true, ts: { received: lateUs, published: lateUs } }));
    expect((await harness.info(mint)).priceSol).toBe(priceSol);
  });

  it('is read again without the retracted prices', async () => {
    const stored = price({ priceQuote: 4e-8, slot: chain.slot + 1 });
    harness.summary = { ...harness.summary, price: jsonOf(stored) };
    const dead = price({ priceQuote: 5e-8, slot: chain.slot + 2 });
    harness.append(dead);
    expect((await harness.lasting(mint)).priceSol).toBe(5e-8);
    harness.append({ type: 'retract', id: dead.id }, [`prices:${mint}`]);
    expect((await harness.info(mint)).priceSol).toBe(4e-8);
    harness.append({ type: 'retract', id: stored.id }, [`prices:${mint}`]);
    expect(await harness.info(mint)).toMatchObject({ priceSlot: chain.slot });
  });
});

describe('windows', () => {
  it('join the record and the log at the checkpoint, each trade once', async () => {
    harness.append(trade({ solAmount: 1 }));
    harness.append(trade({ solAmount: 2 }));
    harness.append(trade({ solAmount: 4, side: 'sell' }));
    const startS = nowS() - (nowS() % 60);
    harness.summary = {
      checkpoint: { epoch: harness.epoch, offset: 2 },
      minutes: [minute(startS - 600, 5, 50), minute(startS, 2, 3)],
      price: null,
    };
    const joined = await harness.info(mint);
    expect(joined.windows).toMatchObject({ '5m': { buys: 2, sells: 1, volumeSol: 7 }, '1h': { buys: 7, sells: 1, volumeSol: 57 } });
    harness.append(trade({ solAmount: 8 }));
    expect((await harness.info(mint)).windows!['24h']).toMatchObject({ buys: 8, sells: 1, volumeSol: 65 });
  });

  it('count nothing that was retracted, and wait while the record still counts it', async () => {
    const [first, second, third] = [trade({ solAmount: 1 }), trade({ solAmount: 2 }), trade({ solAmount: 4 })];
    for (const event of [first, second, third]) harness.append(event);
    const startS = nowS() - (nowS() % 60);
    harness.summary = { checkpoint: { epoch: harness.epoch, offset: 1 }, minutes: [minute(startS, 1, 1)], price: null };
    harness.append({ type: 'retract', id: third.id }, [`trades:${mint}`]);
    expect((await harness.info(mint)).windows).toMatchObject({ '5m': { buys: 2, volumeSol: 3 } });
    harness.append({ type: 'retract', id: first.id }, [`trades:${mint}`]);
    expect((await harness.info(mint)).windows).toBeNull();
    harness.summary = { checkpoint: { epoch: harness.epoch, offset: harness.offset }, minutes: [minute(startS, 1, 2)], price: null };
    harness.clock.suspend(2_000);
    await harness.info(mint);
    await until('the record', async () => (await harness.info(mint)).windows?.['5m'].volumeSol === 2);
  });

  it('count nothing twice if the record is ahead of this gateway', async () => {
    const startS = nowS() - (nowS() % 60);
    harness.summary = { checkpoint: { epoch: harness.epoch, offset: 2 }, minutes: [minute(startS, 2, 3)], price: null };
    await harness.info(mint);
    harness.append(trade({ solAmount: 1 }));
    harness.append(trade({ solAmount: 2 }));
    harness.append(trade({ solAmount: 4 }));
    expect((await harness.info(mint)).windows!['24h']).toMatchObject({ buys: 3, volumeSol: 7 });
  });

  it('include what arrived while the token was being read', async () => {
    harness.beforeSummary = () => void harness.append(trade({ solAmount: 1 }));
    harness.summary = { checkpoint: { epoch: harness.epoch, offset: 0 }, minutes: [], price: null };
    expect((await harness.info(mint)).windows!['24h']).toMatchObject({ buys: 1, volumeSol: 1 });
  });

  it('are null if the time between record and log is unknown, and joined once they meet', async () => {
    harness.append(trade());
    harness.summary = { checkpoint: { epoch: 'another-one-', offset: 1 }, minutes: [], price: null };
    expect((await harness.info(mint)).windows).toBeNull();
    harness.summary = { checkpoint: { epoch: harness.epoch, offset: 1 }, minutes: [minute(nowS() - (nowS() % 60), 1, 2)], price: null };
    harness.clock.suspend(1_100);
    await harness.info(mint);
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect((await harness.info(mint)).windows!['24h']).toMatchObject({ buys: 1, volumeSol: 2 });
    expect(harness.node.calls).toBe(1);
  });

  it('start again after a loss: values that may be incomplete are not returned', async () => {
    harness.append(trade());
    harness.summary = { checkpoint: { epoch: harness.epoch, offset: 1 }, minutes: [minute(nowS() - (nowS() % 60), 1, 2)], price: null };
    expect((await harness.info(mint)).windows).not.toBeNull();
    harness.offset = 9;
    harness.book.onLost(9);
    // The record ends before the gap.
    expect((await harness.info(mint)).windows).toBeNull();
    harness.book.onLost(0);
    harness.history.clear();
    harness.epoch = 'epoch-two-xx';
    harness.offset = 0;
    expect((await harness.info(mint)).windows).toBeNull();
    harness.book.onLost(0);
    harness.summary = { checkpoint: { epoch: harness.epoch, offset: 0 }, minutes: [minute(nowS() - (nowS() % 60), 4, 2)], price: null };
    expect((await harness.info(mint)).windows!['24h']).toMatchObject({ buys: 4 });
  });
});

describe('outdated prices', () => {
  it('are null, with the reason', async () => {
    await harness.info(mint);
    const nullFor = async (reason: string): Promise<void> => {
      expect(await harness.info(mint)).toMatchObject({
        priceQuote: null,
        priceSol: null,
        priceUsd: null,
        priceSlot: null,
        priceAgeMs: null,
        marketCapSol: null,
        marketCapUsd: null,
        liquiditySol: null,
        reserves: null,
        curve: { progressPercent: null },
        priceNullReason: reason,
      });
    };
    harness.linkUp = false;
    await nullFor('bus_down');
    harness.linkUp = true;
    harness.ingest({ endpointsUp: 0 });
    await nullFor('ingest_blind');
    harness.ingest({ leads: false });
    await nullFor('no_ingest');
    harness.ingest({});
    harness.clock.suspend(6_000);
    // The wall clock does not matter.
    harness.clock.jump(-3_600_000);
    await nullFor('no_ingest');
    harness.ingest({});
    const read = await harness.info(mint);
    expect(read.priceNullReason).toBeNull();
    expect(read.reserves).not.toBeNull();
    expect(read.curve?.progressPercent).toEqual(expect.any(Number));
  });

  it('are read again after a time in which no process saw the chain', async () => {
    const first = { instance: 'a', blindPeriods: 0, endpoints: [{ connects: 1 }], publisher: { dropped: 0 } };
    const sights: readonly Readonly<Record<string, unknown>>[] = [
      { ...first, blindPeriods: 1 },
      { ...first, blindPeriods: 1, endpoints: [{ connects: 2 }] },
      { ...first, blindPeriods: 1, endpoints: [{ connects: 2 }], publisher: { dropped: 7 } },
      { ...first, instance: 'b' },
    ];
    harness.ingest(first);
    const { priceSol } = await harness.info(mint);
    for (const [turn, sight] of sights.entries()) {
      harness.append(price({ priceQuote: 5e-8, slot: chain.slot + turn + 1 }));
      expect((await harness.lasting(mint)).priceSol).toBe(5e-8);
      const { calls } = harness.node;
      // The token continued to trade, but the trades were not published.
      harness.node.slot = chain.slot + turn + 2;
      harness.ingest({ ...sight, endpointsUp: 0 });
      expect(await harness.info(mint)).toMatchObject({ priceSol: null, priceNullReason: 'ingest_blind' });
      harness.ingest({ ...sight, leads: false });
      harness.append(price({ poolAddress: addressOf(1), mint: addressOf(2) }));
      expect(await harness.info(mint)).toMatchObject({ priceSol: null, priceNullReason: 'no_ingest' });
      expect(harness.node.calls).toBe(calls);
      harness.ingest(sight);
      expect((await harness.info(mint)).priceSol).toBe(priceSol);
      harness.ingest(sight);
      await harness.info(mint);
      expect(harness.node.calls).toBe(calls + 1);
    }
  });

  it('in USD need a SOL/USD price of the last minute', async () => {
    const fresh = await harness.info(mint);
    expect(fresh.priceUsd! / fresh.priceSol!).toBeCloseTo(150, 9);
    harness.clock.suspend(61_000);
    harness.ingest({ solUsd: null });
    const later = await harness.info(mint);
    expect(later).toMatchObject({ solUsd: null, priceUsd: null, marketCapUsd: null, liquidityUsd: null, priceNullReason: null });
    expect(later.priceSol).toBe(fresh.priceSol);
    expect(later.marketCapSol).toBe(fresh.marketCapSol);
    harness.append(price({ solUsd: { price: 160, slot: 2, ageMs: 59_000 } }));
    const again = await harness.info(mint);
    expect(again.solUsd).toEqual({ price: 160, slot: 2, ageMs: 59_000 });
    expect(again.priceUsd! / again.priceSol!).toBeCloseTo(160, 9);
  });
});

describe('a node that lies', () => {
  const changed = (of: string, change: (account: NodeAccount) => unknown) => (asked: string, account: NodeAccount | null) =>
    asked === of && account !== null ? change(account) : account;
  const bytes = (account: NodeAccount, edit: (data: Buffer) => Buffer): NodeAccount => ({
    ...account,
    data: [edit(Buffer.from(account.data[0], 'base64')).toString('base64'), 'base64'],
  });

  it('cannot present an account of another program, or a part of one, as a mint', async () => {
    harness.node.lie = changed(mint, (account) => ({ ...account, owner: addressOf(77) }));
    expect(await harness.book.find(mint)).toEqual({ ok: false, reason: 'no_mint' });
    const cut = new BookHarness(chain);
    cut.node.lie = changed(mint, (account) => bytes(account, (data) => data.subarray(0, 81)));
    expect(await cut.book.find(mint)).toEqual({ ok: false, reason: 'no_mint' });
    const half = new BookHarness(chain);
    half.node.lie = changed(mint, (account) => bytes(account, (data) => data.subarray(0, data.length - 3)));
    // It claims to be a mint with extensions that are incomplete, so nothing is reported about it.
    expect(await half.book.find(mint)).toMatchObject({ ok: false, reason: 'unavailable' });
  });

  it('cannot present a curve of another program, or a cut one, as a market', async () => {
    for (const change of [
      (account: NodeAccount) => ({ ...account, owner: tokenProgram }),
      (account: NodeAccount) => bytes(account, (data) => data.subarray(0, 40)),
    ]) {
      const lied = new BookHarness(chain);
      lied.node.lie = changed(curve, change);
      expect(await lied.info(mint)).toMatchObject({ venue: null, priceSol: null, priceNullReason: 'no_market' });
    }
  });

  it('gives no price with empty reserves', async () => {
    harness.node.lie = changed(curve, (account) => bytes(account, (data) => data.fill(0, 8, 24)));
    expect(await harness.info(mint)).toMatchObject({ priceSol: null, priceNullReason: 'no_liquidity', marketCapSol: null });
  });

  it('cannot give the metadata of another mint', async () => {
    expect(await harness.info(mint)).toMatchObject({ metadataSource: 'token-2022', name: 'Simulated test coin' });
    const lied = new BookHarness(chain);
    const own = Buffer.from(addressBytes(mint));
    lied.node.lie = changed(mint, (account) =>
      bytes(account, (data) => {
        // The address is in the pointer and, at the end, in the metadata.
        data.set(addressBytes(addressOf(3)), data.lastIndexOf(own));
        return data;
      }),
    );
    expect(await lied.info(mint)).toMatchObject({ metadataSource: null, name: null, symbol: null, uri: null });
    // If no account has the name, the creation has it.
    lied.append(newTokenEvent(mint, { name: 'Reported' }));
    expect(await lied.info(mint)).toMatchObject({ metadataSource: 'event', name: 'Reported' });
  });

  it('cannot report a slot beyond what the chain can have reached', async () => {
    harness.ingest({ slot: chain.slot });
    harness.node.slot = chain.slot + 100_000;
    expect(await harness.book.find(mint)).toMatchObject({ ok: false, reason: 'unavailable' });
  });
});

describe('the record’s last price', () => {
  it('counts if it is newer than what was read', async () => {
    const stored = jsonOf(price({ priceQuote: 9e-8, slot: chain.slot + 50 }));
    harness.summary = { checkpoint: { epoch: harness.epoch, offset: 0 }, minutes: [], price: stored };
    expect((await harness.info(mint)).priceSol).toBe(9e-8);
    const old = new BookHarness(chain);
    old.summary = { ...harness.summary, price: jsonOf(price({ priceQuote: 9e-8, slot: chain.slot - 1 })) };
    expect((await old.info(mint)).priceSol).not.toBe(9e-8);
  });
});
