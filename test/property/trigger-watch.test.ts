import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { WatchIndex } from '../../followers/src/index.ts';
import type { WatchEvent } from '../../followers/src/triggers/watch-index.ts';
import type { PriceTick, Watch } from '../../followers/src/triggers/watch.ts';
import { fuzzMs, isFullFuzz } from '../support/fuzz.ts';
import { TriggerOracle, type Entry } from './trigger-oracle.ts';

const startMs = 1_795_248_000_000;
const supply = 8;
const mints = ['one', 'two'] as const;

const small = fc.integer({ min: 1, max: 8 });
const op = fc.constantFrom('>=' as const, '<=' as const);
const metric = fc.constantFrom(...(['priceSol', 'priceUsd', 'marketCapSol', 'marketCapUsd'] as const));
const side = fc.constantFrom('buy' as const, 'sell' as const);
const conditions: fc.Arbitrary<Watch['when']> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('level' as const), metric: fc.constant('priceSol' as const), op, value: small }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('level' as const), metric, op, value: fc.constantFrom(8, 64, 300, 3_000) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('trailing' as const), metric, percent: fc.constantFrom(1, 20, 50, 75) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('profit' as const), op, percent: fc.constantFrom(-50, 0, 100) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('account' as const),
      account: fc.constantFrom('a', 'b'),
      side,
      minSol: fc.constantFrom(0, 3),
      times: fc.constantFrom(1, 50),
    }),
  },
);
const armed = fc.record({
  does: fc.constant('arm' as const),
  when: conditions,
  mint: fc.constantFrom(...mints),
  side,
  confirm: fc.constantFrom(...(['processed', 'processed', 'confirmed'] as const)),
  minDepthSol: fc.constantFrom(0, 1),
  holdMs: fc.constantFrom(0, 100, 500, 2_000),
});
const steps = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      does: fc.constant('tick' as const),
      mint: fc.constantFrom(...mints),
      price: small,
      back: fc.constantFrom(0, 0, 0, 0, 1, 2, 3),
      heldSol: fc.constantFrom(50, 50, 50, 50, 0.5, null),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({ does: fc.constant('wait' as const), ms: fc.constantFrom(1, 20, 50, 99, 100, 400, 500, 1_000, 2_000) }),
  },
  { weight: 6, arbitrary: fc.record({ does: fc.constant('slot' as const) }) },
  { weight: 5, arbitrary: armed },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('take' as const), isStored: fc.boolean() }) },
  {
    weight: 3,
    arbitrary: fc.record({ does: fc.constant('decide' as const), pick: fc.nat(3), isDead: fc.constantFrom(false, false, true) }),
  },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('retract' as const), pick: fc.nat(6) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      does: fc.constant('trade' as const),
      mint: fc.constantFrom(...mints),
      account: fc.constantFrom('a', 'b'),
      side,
      sizeSol: fc.constantFrom(1, 3, null),
      again: fc.constantFrom(false, false, true),
    }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('retractTrade' as const), pick: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('solUsd' as const), price: fc.constantFrom(null, 10, 100, 40) }) },
  {
    weight: 1,
    arbitrary: fc.record({ does: fc.constant('cost' as const), mint: fc.constantFrom(...mints), cost: fc.constantFrom(null, 2, 4) }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('cancel' as const), pick: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('read' as const), mint: fc.constantFrom(...mints), price: small }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('lose' as const) }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('checkpoint' as const) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('restart' as const) }) },
);
type Step = typeof steps extends fc.Arbitrary<infer One> ? One : never;

const wallet = 'wallet';
const epoch = 'epoch';
type PriceEntry = Extract<Entry, { kind: 'price' }>;

/** A history: what happens on the chain, what the log says about it, and what happens to the process that watches. */
class World {
  readonly #log: Entry[] = [];
  readonly #watches = new Map<string, Watch>();
  readonly #costs = new Map<string, number | null>();
  readonly #undecided: number[] = [];
  readonly #stored = { offset: 0, watermarks: new Map<string, number>() };
  #index = new WatchIndex();
  #oracle = new TriggerOracle(supply);
  #solUsd: number | null = 100;
  #nowMs = 0;
  #slot = 1_000;
  #made = 0;
  /** Older slots have no further ticks. How a watch counts the rest of the slot in which it is armed is not stated. */
  #fromSlot = 1_000;

  constructor() {
    for (const mint of mints) {
      for (const confirm of ['processed', 'confirmed'] as const) {
        const when = { kind: 'level', metric: 'priceSol', op: '<=', value: -1 } as const;
        const fields = {
          side: 'sell',
          minDepthSol: 0,
          holdMs: 0,
          watermark: null,
          publicKey: wallet,
          armedAtMs: 0,
          nextAtMs: null,
        } as const;
        this.#watches.set(`never ${mint} ${confirm}`, { id: `never ${mint} ${confirm}`, mint, when, confirm, ...fields });
      }
    }
    this.#restart();
  }

  run(step: Step): void {
    this.#do(step);
    this.#index.tick(this.#nowMs, this.#wallMs, this.#solUsd);
    this.#oracle.pass(this.#nowMs, this.#solUsd);
    this.#compare();
  }

  get #wallMs(): number {
    return startMs + this.#nowMs;
  }

  #do(step: Step): void {
    switch (step.does) {
      case 'wait':
        this.#nowMs += step.ms;
        return;
      case 'slot':
        this.#undecided.push(this.#slot++);
        return;
      case 'tick':
        return this.#publish({ kind: 'price', tick: this.#tick(step, Math.max(this.#fromSlot, this.#slot - step.back)) });
      case 'read':
        return this.#read(step.mint, this.#tick({ ...step, heldSol: 50 }, this.#slot, ''));
      case 'retract': {
        const tick = this.#log.filter((entry): entry is PriceEntry => entry.kind === 'price').at(-1 - step.pick)?.tick;
        if (tick !== undefined) this.#publish({ kind: 'retract', of: 'price', mint: tick.mint, id: tick.id });
        return;
      }
      case 'decide': {
        const [slot] = this.#undecided.splice(Math.min(step.pick, this.#undecided.length - 1), 1);
        if (slot === undefined) return;
        const slots = step.isDead ? { alive: [], dead: [slot] } : { alive: [slot], dead: [] };
        return this.#publish({ kind: 'slots', ...slots, lost: false });
      }
      case 'trade':
        return this.#trade(step);
      case 'retractTrade': {
        const trade = this.#log.filter((entry) => entry.kind === 'trade').at(-1 - step.pick)?.trade;
        if (trade !== undefined) this.#publish({ kind: 'retract', of: 'event', mint: trade.mint, id: trade.id });
        return;
      }
      case 'solUsd':
        this.#solUsd = step.price;
        return;
      case 'lose':
        return this.#publish({ kind: 'slots', alive: [], dead: [], lost: true });
      default:
        return this.#doToWatches(step);
    }
  }

  #doToWatches(step: Extract<Step, { does: 'arm' | 'take' | 'cost' | 'cancel' | 'checkpoint' | 'restart' }>): void {
    switch (step.does) {
      case 'arm':
        return this.#arm(step);
      case 'cost': {
        this.#beginSlot();
        this.#costs.set(step.mint, step.cost);
        this.#index.setPosition(wallet, step.mint, step.cost);
        this.#oracle.setCost(step.mint, step.cost, this.#nowMs);
        return;
      }
      case 'cancel': {
        const id = [...this.#watches.keys()].filter((other) => !other.startsWith('never')).at(-1 - step.pick);
        if (id !== undefined) this.#end(id);
        return;
      }
      case 'take':
        return this.#take(step.isStored);
      case 'checkpoint': {
        for (const [id, watermark] of this.#index.watermarks(this.#nowMs)) this.#stored.watermarks.set(id, watermark);
        this.#stored.offset = (this.#index.oldestPinned(this.#nowMs)?.offset ?? this.#log.length + 1) - 1;
        const outstanding = [...this.#oracle.watches.values()].flatMap(({ trades }) => trades.map(({ offset }) => offset));
        expect(this.#stored.offset).toBe(Math.min(...outstanding, this.#log.length + 1) - 1);
        for (const [id, { watch, watermark }] of this.#oracle.watches) {
          if (watch.when.kind === 'trailing') expect([id, this.#stored.watermarks.get(id) ?? null]).toEqual([id, watermark]);
        }
        return;
      }
      case 'restart':
        return this.#restart();
    }
  }

  #beginSlot(): void {
    this.#undecided.push(this.#slot++);
    this.#fromSlot = this.#slot;
  }

  #arm({ when, mint, side: itsSide, confirm, minDepthSol, holdMs }: Extract<Step, { does: 'arm' }>): void {
    this.#beginSlot();
    const id = `${when.kind} ${this.#made++}`;
    const terms = { when, mint, side: itsSide, confirm, minDepthSol, holdMs, publicKey: wallet };
    const watch: Watch = { ...terms, id, watermark: null, armedAtMs: this.#wallMs, nextAtMs: null };
    this.#watches.set(id, watch);
    this.#add(watch);
  }

  #add(watch: Watch): void {
    const cost = this.#costs.get(watch.mint!) ?? null;
    this.#index.add(watch);
    this.#index.setPosition(wallet, watch.mint!, cost);
    this.#oracle.add(watch, this.#nowMs, cost);
  }

  #end(id: string): void {
    this.#watches.delete(id);
    this.#index.remove(id);
    this.#oracle.watches.delete(id);
  }

  #tick(step: Pick<Extract<Step, { does: 'tick' }>, 'mint' | 'price' | 'heldSol'>, slot: number, id = `tick ${this.#made++}`): PriceTick {
    const us = this.#wallMs * 1000;
    const { mint, price, heldSol } = step;
    return { kind: 'price', mint, id, slot, isSettled: false, price, unit: 'sol', heldSol, curve: null, receivedUs: us, publishedUs: us };
  }

  #read(mint: string, tick: PriceTick): void {
    this.#index.takeRead(mint, { tick, supply, goal: null }, this.#nowMs, this.#wallMs);
    this.#oracle.read(tick, this.#nowMs);
  }

  #trade({ mint, account, side: itsSide, sizeSol, again }: Extract<Step, { does: 'trade' }>): void {
    const known = this.#log.filter((entry) => entry.kind === 'trade').at(-1)?.trade;
    const us = this.#wallMs * 1000;
    const seen = { slot: this.#slot, isSettled: false, atMs: this.#wallMs, receivedUs: us, publishedUs: us, offset: this.#log.length + 1 };
    const amounts = { sizeSol, baseAmount: '1', lamports: '1' };
    const fresh = { kind: 'trade', mint, id: `trade ${this.#made++}`, account, side: itsSide, ...amounts, ...seen } as const;
    this.#publish({ kind: 'trade', trade: again && known !== undefined ? { ...known, ...seen } : fresh });
  }

  #publish(entry: Entry): void {
    this.#log.push(entry);
    this.#note(entry);
  }

  #note(entry: Entry): void {
    this.#index.note(eventOf(entry), this.#nowMs, this.#wallMs);
    this.#oracle.note(entry, this.#nowMs);
  }

  /** The process ends, and another one continues at the checkpoint, with what is stored. */
  #restart(): void {
    this.#index = new WatchIndex();
    this.#oracle = new TriggerOracle(supply);
    this.#fromSlot = this.#slot;
    this.#index.beginReplay(this.#nowMs, this.#wallMs);
    this.#index.enterEpoch(epoch, true);
    for (const watch of this.#watches.values()) this.#add({ ...watch, watermark: this.#stored.watermarks.get(watch.id) ?? null });
    for (const mint of mints) this.#index.takeRead(mint, { tick: null, supply, goal: null }, this.#nowMs, this.#wallMs);
    for (const entry of this.#log.slice(this.#stored.offset)) this.#note(entry);
    expect(this.#index.takeMet(1)).toEqual([]);
    this.#index.endReplay();
  }

  /** `isStored`: false if the process ends before the firings are stored. */
  #take(isStored: boolean): void {
    const taken = this.#index.takeMet(1_000);
    if (!isStored) return this.#restart();
    for (const met of taken) {
      const watch = this.#watches.get(met.id)!;
      this.#index.stored(met);
      if (watch.when.kind !== 'account' || watch.when.times === 1) this.#end(met.id);
      else {
        const after = met.position!;
        this.#watches.set(met.id, { ...watch, after });
        this.#oracle.taken(met.id, met.eventId!);
      }
    }
    this.#compare();
  }

  #compare(): void {
    const ids: string[] = [];
    this.#index.takeMet(1_000, (id) => {
      ids.push(id);
      return false;
    });
    expect(ids.toSorted()).toEqual([...this.#oracle.met(this.#nowMs).keys()].toSorted());
  }
}

function eventOf(entry: Entry): WatchEvent {
  switch (entry.kind) {
    case 'price':
      return entry.tick;
    case 'trade':
      return entry.trade;
    case 'retract':
      return entry;
    case 'slots': {
      const { alive, dead, lost } = entry;
      return { kind: 'slots', verdict: { alive, dead, ...(lost ? { lost: { from: 0, to: 0, signatures: [] } } : {}) } };
    }
  }
}

describe('the index of conditions', () => {
  it('meets what the rules say, for any prices, retractions, losses and restarts', { timeout: fuzzMs(60_000) }, () => {
    fc.assert(
      fc.property(fc.array(steps, { minLength: 20, maxLength: 120 }), (history) => {
        const world = new World();
        for (const step of history) world.run(step);
      }),
      { numRuns: isFullFuzz ? 10_000 : 300 },
    );
  });
});
