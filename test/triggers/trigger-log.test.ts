import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Bus, BusEntry, LogPosition } from '@sluice/shared/bus/bus.ts';
import { createInProcessBus } from '@sluice/shared/bus/in-process/in-process-bus.ts';
import { verdictEntry } from '@sluice/shared/market/verdicts/slot-verdict.ts';
import type { PriceEvent, TradeEvent } from '@sluice/shared/wire/events/events.ts';
import { accountTradesTopic, pricesTopic } from '@sluice/shared/wire/stream/topics.ts';
import { TriggerLog } from '../../followers/src/index.ts';
import type { Met, PriceRead } from '../../followers/src/triggers/watch.ts';
import { silentLog } from '../contract/bus-harness.ts';
import { manualClock, type ManualClock } from '../support/clocks.ts';
import { addressOf, entryOf, migrationEvent, priceEvent, tradeEvent } from '../support/events/stream-events.ts';
import { watchOf } from './watch-rig.ts';

const mint = addressOf(1);
const leader = addressOf(2);
const sol = 1_000_000_000;

/** What is stored of triggers, and outlives a process. */
interface Stored {
  checkpoint: LogPosition | null;
  watermarks: Map<string, number>;
}

let bus: Bus;
let clock: ManualClock;
let stored: Stored;
let reads: Map<string, PriceRead>;
const open: Process[] = [];
beforeEach(() => {
  bus = createInProcessBus({ maxEntries: 50 });
  clock = manualClock();
  stored = { checkpoint: null, watermarks: new Map() };
  reads = new Map();
});
afterEach(async () => {
  for (const process of open.splice(0)) await process.kill();
  await bus.close();
});

/** A process that watches. Killed, it stores nothing any more. */
class Process {
  readonly met: Met[] = [];
  readonly log: TriggerLog;
  isFenced = false;
  #isDead = false;

  constructor() {
    this.log = new TriggerLog({
      bus,
      checkpoint: async () => stored.checkpoint,
      save: async (position, watermarks) => {
        if (this.#isDead) throw new Error('killed');
        if (this.isFenced) return 'fenced';
        stored.checkpoint = position;
        for (const [id, watermark] of watermarks) stored.watermarks.set(id, watermark);
        return 'stored';
      },
      readPrices: async () => reads,
      onMet: () => this.met.push(...this.log.takeMet(100)),
      unixMs: () => clock.wallMs(),
      clock,
      log: silentLog,
    });
    open.push(this);
  }

  add(id: string, changes: Parameters<typeof watchOf>[1] = {}): void {
    this.log.add(watchOf(id, { mint, armedAtMs: 0, watermark: stored.watermarks.get(id) ?? null, ...changes }));
  }

  async pass(ms: number): Promise<void> {
    for (let left = ms; left >= 0; left -= 20) {
      await clock.pass(Math.min(left, 20));
      this.log.tick(clock.steadyMs(), clock.wallMs(), 150);
      this.met.push(...this.log.takeMet(100));
      for (let turns = 0; turns < 4; turns++) await turn();
    }
  }

  async kill(): Promise<void> {
    this.#isDead = true;
    await this.log.close();
  }

  get fired(): string[] {
    return this.met.map(({ id }) => id);
  }
}

async function begin(...watches: Parameters<Process['add']>[]): Promise<Process> {
  const process = new Process();
  for (const watch of watches) process.add(...watch);
  await process.pass(40);
  return process;
}

async function publish(...entries: BusEntry[]): Promise<void> {
  const publisher = await bus.publisher();
  await publisher.publish(entries);
  await publisher.close();
}

function price(priceSol: number, changes: Partial<PriceEvent> = {}): BusEntry {
  const amount = String(50 * sol);
  const reserves = { virtualBase: '1', virtualQuote: amount, realBase: '1', realQuote: amount };
  const event = priceEvent(mint, { priceQuote: priceSol, priceSol, priceUsd: priceSol * 150, reserves, ...changes });
  const received = clock.wallMs() * 1000;
  const mainPool = changes.mainPool === undefined ? event.poolAddress : changes.mainPool;
  return entryOf({ ...event, mainPool, ts: { received, published: received } });
}

function trade(changes: Partial<TradeEvent> = {}): BusEntry {
  const received = clock.wallMs() * 1000;
  return entryOf(tradeEvent(mint, { trader: leader, ts: { received, published: received }, ...changes }));
}

describe('the log of triggers', () => {
  it('meets a condition in the turns in which the entry arrives, and counts only the main pool', async () => {
    const process = await begin(['stop', { holdMs: 0, armedAtMs: clock.wallMs() + 20 }]);
    await publish(price(0.1, { mainPool: addressOf(9) }), price(0.1, { mainPool: null }));
    for (let turns = 0; turns < 5; turns++) await turn();
    expect(process.fired).toEqual([]);
    await publish(price(0.5));
    for (let turns = 0; turns < 5; turns++) await turn();
    expect(process.met).toMatchObject([{ id: 'stop', value: 0.5, late: false, price: { op: '<=', priceSol: 0.5, boundSol: 0.5 } }]);
  });

  it('reads what a pool holds, what retracts a price, and what settles a slot', async () => {
    const process = await begin(['deep', { minDepthSol: 10 }], ['sure', { confirm: 'confirmed' }]);
    const few = String(9 * sol);
    await publish(price(0.4, { slot: 5, reserves: { virtualBase: '1', virtualQuote: few, realBase: '1', realQuote: few } }));
    await publish(price(0.4, { slot: 6, id: 'void.price', reserves: null, depth: String(sol) }));
    await process.pass(100);
    await publish({ topics: [pricesTopic(mint)], record: Buffer.from(JSON.stringify({ type: 'retract', id: 'void.price' })) });
    await process.pass(2_000);
    expect(process.fired).toEqual([]);
    await publish(verdictEntry({ alive: [5], dead: [6] }));
    await process.pass(600);
    expect(process.fired).toEqual(['sure']);
    expect(Object.fromEntries(process.log.reasons())).toEqual({ deep: 'shallow_pool' });
  });

  it('continues at the checkpoint: a price that is over fires nothing, one that holds is late', async () => {
    const first = await begin(['over', { holdMs: 0 }], ['holds', { when: { kind: 'level', metric: 'priceSol', op: '>=', value: 2 } }]);
    await publish(price(1));
    await first.pass(1_100);
    await first.kill();
    expect(stored.checkpoint).toMatchObject({ offset: 1 });
    await publish(price(0.1, { slot: 380_146_924 }), price(3, { slot: 380_146_925 }));
    await clock.pass(5_000);
    const second = await begin(['over', { holdMs: 0 }], ['holds', { when: { kind: 'level', metric: 'priceSol', op: '>=', value: 2 } }]);
    await second.pass(600);
    expect(second.met).toMatchObject([{ id: 'holds', value: 3, late: true }]);
  });

  it('evaluates the newest price if the log does not reach back to the checkpoint, and is late', async () => {
    stored.checkpoint = { epoch: 'before', offset: 5 };
    const process = await begin(['stop']);
    await process.pass(1_000);
    expect(process.fired).toEqual([]);
    await process.pass(1_000);
    expect(Object.fromEntries(process.log.reasons())).toEqual({ stop: 'gap' });
    const receivedUs = (clock.wallMs() - 60_000) * 1000;
    const read = {
      slot: 7,
      isSettled: true,
      price: 0.3,
      unit: 'sol',
      heldSol: 5,
      curve: null,
      receivedUs,
      publishedUs: receivedUs,
    } as const;
    reads.set(mint, { tick: { kind: 'price', mint, id: '', ...read }, supply: 1_000, goal: null });
    await process.pass(6_000);
    expect(process.met).toMatchObject([{ id: 'stop', value: 0.3, late: true }]);
  });

  it('knows no price after entries that the log lost before they were read', async () => {
    await publish(price(0.4));
    const first = await begin(['far', { when: { kind: 'level', metric: 'priceSol', op: '<=', value: 0.1 } }]);
    await first.pass(1_100);
    await first.kill();
    await publish(...Array.from({ length: 60 }, () => price(0.05)), ...Array.from({ length: 50 }, () => trade()));
    const second = await begin(['stop']);
    await second.pass(2_000);
    expect(Object.fromEntries(second.log.reasons())).toEqual({ stop: 'gap' });
    expect(second.fired).toEqual([]);
  });

  it('stores watermarks with the checkpoint, and begins with them', async () => {
    const trailing = { when: { kind: 'trailing', metric: 'priceSol', percent: 20 } } as const;
    const first = await begin(['trail', trailing]);
    await publish(price(10));
    await first.pass(1_700);
    await first.kill();
    expect([...stored.watermarks]).toEqual([['trail', 10]]);
    await publish(price(8, { slot: 380_146_930 }));
    const second = await begin(['trail', trailing]);
    await second.pass(600);
    expect(second.fired).toEqual(['trail']);
  });

  it('does not lose a trade of an account whose firing is not stored, and does not fire one that is twice', async () => {
    const follow = { side: 'buy', when: { kind: 'account', account: leader, side: 'buy', minSol: 1, times: 9 } } as const;
    const first = await begin(['follow', follow]);
    await publish(trade({ id: 'a' }), trade({ id: 'b' }), trade({ trader: addressOf(3) }));
    await first.pass(1_500);
    expect(first.met).toMatchObject([{ cause: { eventId: 'a', quoteAmount: '2629842459' } }, { cause: { eventId: 'b' } }]);
    expect(stored.checkpoint).toMatchObject({ offset: 0 });
    first.log.stored(first.met[0]!);
    await first.pass(1_500);
    expect(stored.checkpoint).toMatchObject({ offset: 1 });
    await first.kill();
    const second = await begin(['follow', { ...follow, after: first.met[0]!.position }]);
    await second.pass(100);
    expect(second.met).toMatchObject([{ cause: { eventId: 'b' } }]);
    second.log.stored(second.met[0]!);
    await second.pass(1_100);
    expect(stored.checkpoint).toMatchObject({ offset: 3 });
  });

  it('meets a migration and retracts a trade of an account', async () => {
    const process = await begin(
      ['moved', { when: { kind: 'migration' } }],
      ['sure', { confirm: 'confirmed', when: { kind: 'account', account: leader, side: 'buy', minSol: 0, times: 1 } }],
    );
    const topics = [...trade().topics];
    expect(topics).toContain(accountTradesTopic(leader));
    const us = clock.wallMs() * 1000;
    await publish(trade({ id: 'void', slot: 9 }), entryOf(migrationEvent(mint, { ts: { received: us, published: us } })));
    await publish({ topics, record: Buffer.from(JSON.stringify({ type: 'retract', id: 'void' })) }, verdictEntry({ alive: [9], dead: [] }));
    await process.pass(40);
    expect(process.met).toMatchObject([{ id: 'moved', mint, late: false }]);
  });

  it('takes nothing once another process has taken over', async () => {
    const process = await begin(['stop', { holdMs: 0 }]);
    await publish(price(1));
    process.isFenced = true;
    await process.pass(1_100);
    await publish(price(0.1, { slot: 380_146_930 }));
    await process.pass(100);
    expect(process.fired).toEqual([]);
    expect(stored.checkpoint).toBeNull();
  });
});
