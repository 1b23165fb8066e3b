import { afterEach, describe, expect, it } from 'vitest';
import type { Bus } from '@sluice/shared/bus/bus.ts';
import { createBus } from '@sluice/shared/bus/create.ts';
import { wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import type { StreamEvent } from '@sluice/shared/wire/events/events.ts';
import { startIngest, type Ingest } from '@sluice/ingest/ingest.ts';
import { startSimnet, type Simnet } from '../simnet/simnet.ts';
import { eventsOnChain, eventKinds, unknowable } from '../support/events/chain-events.ts';
import { startRedis, type TestRedis } from '../support/servers/redis.ts';
import { recordingLog, type LogLine } from './harness.ts';
import { fastClock } from '../support/clocks.ts';
import { advanceWith } from '../support/chain/advance-with.ts';
import { until } from '../support/until.ts';
import { eventsOfEntry } from '../support/events/entry-events.ts';
import { testConfig } from '../support/test-config.ts';
import { eventFaults } from '../support/events/event-faults.ts';

/** A minute at 200 ms a slot: several coins complete and migrate. */
const slots = 300;

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

interface Running {
  readonly simnet: Simnet;
  readonly ingest: Ingest;
  readonly events: StreamEvent[];
  readonly lines: LogLine[];
}

async function start(redis: TestRedis | null, second = false): Promise<Running> {
  const lines: LogLine[] = [];
  const log = recordingLog(lines);
  const simnet = await startSimnet({ seed: 11, autoStart: false, market: { completeEverySeconds: 20, boostedShare: 0.5 } });
  closers.push(() => simnet.close());
  const bus: Bus = await createBus({ redisUrls: redis === null ? null : [redis.url], log });
  closers.push(() => bus.close());
  const events: StreamEvent[] = [];
  const subscriber = await bus.subscriber();
  await subscriber.start({
    onEntry: (entry) => void events.push(...eventsOfEntry(entry)),
    onLost: ({ from, to, reason }) => {
      throw new Error(`Entries ${from} to ${to} were lost: ${reason}.`);
    },
  });
  // The same node under two names counts as two endpoints.
  const also = (url: string): string[] => (second ? [url, url.replace('127.0.0.1', 'localhost')] : [url]);
  const config = { ...testConfig, rpc: { httpUrls: also(simnet.rpcUrl), wsUrls: also(simnet.wsUrl) } };
  const ingest = await startIngest({ config, bus, blockClock: fastClock(0.1), log, signal: new AbortController().signal });
  closers.push(() => ingest.close());
  await until('subscribed', () => ingest.stats().endpointsUp === (second ? 2 : 1));
  return { simnet, ingest, events, lines };
}

/** Every coin is worth a price that its main pool had, times the supply that its mint shows, in all programs. Nothing was burned yet. */
function expectTrueValues({ simnet, events }: Running): void {
  const supplies = new Map<string, number>();
  const prices = new Map<string, Set<string>>();
  const noted = (mint: string, price: number | null): void => {
    if (price !== null) prices.set(mint, (prices.get(mint) ?? new Set()).add(price.toPrecision(9)));
  };
  // A price that was read from the chain may be ahead of the events that wait.
  for (const event of events) {
    if (event.type === 'trade') noted(event.mint, event.priceQuoteBefore);
    if ('priceSol' in event) noted(event.mint, event.priceSol);
  }
  for (const event of events) {
    if ('program' in event || event.type === 'retract' || event.type === 'order' || event.type === 'trigger' || event.type === 'position')
      continue;
    if (event.type === 'tokenMetadata' || event.type === 'candle') continue;
    const mint = simnet.chain.account(event.mint);
    if (mint === null) continue; // the market has dropped an old coin
    const supply = Buffer.from(mint.data).readBigUInt64LE(36);
    // The mint of wrapped SOL has no supply.
    if (event.mint === wrappedSolMint) continue;
    supplies.set(event.mint, Number(supply / 1_000_000n));
    if (event.type === 'newToken') expect(event.supply).toBe(supply.toString());
    // The market cap is that of the main pool.
    if ('mainPool' in event && event.mainPool !== event.poolAddress) continue;
    if (!event.quoteMint.startsWith('So1111')) continue;
    expect([...(prices.get(event.mint) ?? [])]).toContain((event.marketCapSol! / (Number(supply) / 1e6)).toPrecision(9));
  }
  expect(new Set(supplies.values())).toEqual(new Set([1e9, 2e9]));
}

/** Lets a minute of the chain's time pass, as fast as the reader follows. */
async function expectWhole({ simnet, ingest, events }: Running, ordered = true): Promise<void> {
  for (let slot = 0; slot < slots; slot++) {
    await advanceWith(simnet.chain, () => ingest.stats().slot);
  }
  const all = eventsOnChain(simnet);
  expect(all.filter(({ kind }) => kind === 'trade').length).toBeGreaterThan(300);
  for (const type of eventKinds) {
    const expected = all.filter(({ kind }) => kind === type);
    const publishedIds = (): string[] => events.filter((event) => event.type === type).map((event) => event.id);
    expect(expected.length).toBeGreaterThan(0);
    await until(`every ${type}`, () => publishedIds().length >= expected.length);
    expect(publishedIds().toSorted()).toEqual(expected.map(({ id }) => id).toSorted());
    // Events that must be fetched arrive later, and what opens a market earlier. The others of each coin are in chain order.
    const late = new Set(expected.filter(({ fetched }) => fetched).map(({ id }) => id));
    const coins = new Map(events.flatMap((event) => ('mint' in event ? [[event.id, event.mint] as const] : [])));
    const byCoin = (ids: readonly string[]): string[] =>
      ids.filter((id) => !late.has(id)).toSorted((one, other) => coins.get(one)!.localeCompare(coins.get(other)!));
    if (ordered) expect(byCoin(publishedIds())).toEqual(byCoin(expected.map(({ id }) => id)));
  }
  expect(new Set(events.map((event) => event.id)).size).toBe(events.length);
  for (const event of events) {
    expect(eventFaults(event)).toEqual([]);
    expect(event).toMatchObject({ simulated: true });
  }
  await until('what nobody can know is lost', () => ingest.stats().pipeline.lostTransactions === unknowable(simnet));
  expect(ingest.stats().pipeline).toMatchObject({ lostEvents: 0, waiting: 0 });
}

describe('a whole simulated chain', () => {
  it('publishes every trade, creation and migration once, in the order of each coin, in the form of the contract', async () => {
    const running = await start(null);
    await expectWhole(running);
    expectTrueValues(running);
    expect(running.ingest.stats().events).toMatchObject({ discontinuities: 0, unpublishedChanges: 0 });
    const trades = running.events.filter((event) => event.type === 'trade');
    expect(trades.filter(({ pool }) => pool === 'pump-amm').length).toBeGreaterThan(0);
    expect(trades.some(({ curveCompleted }) => curveCompleted === true)).toBe(true);
    expect(trades.every(({ marketCapSol, quoteMint }) => (quoteMint.startsWith('So1111') ? marketCapSol !== null : true))).toBe(true);
    expect(running.lines.filter(({ level }) => level !== 'info' && level !== 'debug')).toEqual([]);
  });

  it('does the same through Redis, from two endpoints', async () => {
    const redis = await startRedis();
    closers.push(() => redis.stop());
    const running = await start(redis, true);
    await expectWhole(running);
    expect(running.ingest.stats().sightings.repeated).toBeGreaterThan(0);
  });

  it('completes cut logs from the transaction, and ignores copies that a foreign program logs', async () => {
    const running = await start(null);
    running.simnet.control.truncate({ count: 25, bytes: 0 });
    running.simnet.control.lookAlike({ count: 25 });
    running.simnet.control.duplicate({ share: 0.3 });
    await expectWhole(running, false);
    // Of the 25, the failed ones are ignored. Swaps on Whirlpools are completed too; the others here have cut logs.
    const { completed, hidden } = running.ingest.stats().pipeline;
    expect(completed - hidden).toBeGreaterThan(10);
  });
});
