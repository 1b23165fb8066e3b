import type { ConfirmedFate, ConfirmedSlots } from '@sluice/shared/market/verdicts/confirmed-slots.ts';
import type { ArmedLevel } from './armed.ts';
import { DueHeap } from './due-heap.ts';
import type { LaneHost, LevelLane } from './lane.ts';
import { MintPrices, type PriceContext } from './mint-prices.ts';
import type { PriceRead, PriceTick } from './watch.ts';

/** Mints with ticks of an undecided slot, over all slots. Above this limit, the oldest slot is not waited for any more. */
const mostAwaited = 50_000;
/** Stale entries that the heap of lanes may contain besides one for each mint. */
const mostStale = 4_096;
/** Time after which a read of the market's state that was not answered, showed no price, or showed facts is repeated. */
const readAgainMs = { unanswered: 5_000, unpriced: 30_000, facts: 600_000 } as const;
/** How often prices in another unit follow the price of SOL, and in how many calls of `tick` all do. */
const sweepEveryMs = 1_000;
const sweepTicks = 20;
const leastSwept = 500;

/** The prices of all mints that are watched. */
export class MintBook implements PriceContext {
  solUsd: number | null = null;
  watchingSinceMs = 0;
  readonly meet: LaneHost['meet'];
  readonly unmeet: LaneHost['unmeet'];
  /** Mints of which something changed that may be a reason to wait. */
  readonly changed = new Set<MintPrices>();
  readonly #slots: ConfirmedSlots;
  readonly #mints = new Map<string, MintPrices>();
  readonly #lanes = new DueHeap<LevelLane>();
  /** Mints with undecided ticks, by slot. */
  readonly #awaited = new Map<number, Set<MintPrices>>();
  #awaitedCount = 0;
  readonly #reads = new DueHeap<MintPrices>();
  /** Lanes with values that may depend on the price of SOL. */
  readonly #otherUnit = new Set<LevelLane>();
  /** Trailing lanes of which a watermark may change. */
  readonly #trailing = new Set<LevelLane>();
  #sweptAtMs = Number.NEGATIVE_INFINITY;
  /** Lanes whose values have not followed the price of SOL yet. */
  #unswept: LevelLane[] = [];

  constructor(slots: ConfirmedSlots, { meet, unmeet }: Pick<LaneHost, 'meet' | 'unmeet'>) {
    this.#slots = slots;
    this.meet = meet;
    this.unmeet = unmeet;
  }

  get size(): number {
    return this.#mints.size;
  }

  /** When a hold may be over, on the steady clock. */
  get nextMs(): number {
    return this.#lanes.nextMs;
  }

  get(mint: string): MintPrices | undefined {
    return this.#mints.get(mint);
  }

  /** Adds a watch of the mint. */
  use(mint: string, nowMs: number): MintPrices {
    let prices = this.#mints.get(mint);
    if (prices === undefined) {
      prices = new MintPrices(mint, this);
      this.#mints.set(mint, prices);
      this.read(prices, nowMs);
    }
    prices.watches++;
    this.changed.add(prices);
    return prices;
  }

  release(prices: MintPrices): void {
    if (--prices.watches > 0) return;
    this.#mints.delete(prices.mint);
    this.changed.delete(prices);
  }

  arm(armed: ArmedLevel, nowMs: number): void {
    armed.lane.arm(armed, nowMs);
  }

  /** Ends a level watch. */
  drop(armed: ArmedLevel): void {
    armed.lane.drop(armed);
    if (armed.lane.size > 0) return;
    this.#trailing.delete(armed.lane);
    this.#otherUnit.delete(armed.lane);
    armed.lane.prices.removeEmptyLanes();
  }

  price(tick: PriceTick, nowMs: number): void {
    const prices = this.#mints.get(tick.mint);
    if (prices === undefined || this.fateOf(tick) === 'drop') return;
    prices.take(tick, nowMs);
    this.#note(prices);
  }

  /** `mint`: null if it is not known. */
  retract(mint: string | null, id: string, nowMs: number): void {
    for (const prices of mint === null ? this.#mints.values() : [this.#mints.get(mint)]) {
      if (prices === undefined) continue;
      prices.retract(id, nowMs);
      this.#note(prices);
    }
  }

  /** The fate of some slots is known now. */
  decide(nowMs: number): void {
    for (const [slot, all] of this.#awaited) {
      if (this.#slots.fateOfSlot(slot) === 'wait') continue;
      this.#endSlot(slot, all);
      for (const prices of all) {
        prices.settle(nowMs);
        this.#note(prices);
      }
    }
  }

  /** The log lost entries, or the state begins again. */
  lose(nowMs: number, wallMs: number): void {
    this.watchingSinceMs = wallMs;
    this.#awaited.clear();
    this.#awaitedCount = 0;
    for (const prices of this.#mints.values()) {
      prices.lose(nowMs);
      this.read(prices, nowMs);
      this.changed.add(prices);
    }
  }

  tick(nowMs: number, solUsd: number | null): void {
    const isDue = (solUsd === null) !== (this.solUsd === null) || nowMs - this.#sweptAtMs >= sweepEveryMs;
    if (solUsd !== this.solUsd && isDue) {
      const isKnown = solUsd !== null && this.solUsd !== null;
      this.solUsd = solUsd;
      this.#sweptAtMs = nowMs;
      this.#unswept = [...this.#otherUnit];
      if (!isKnown) for (const { prices } of this.#otherUnit) this.changed.add(prices);
    }
    if (this.#unswept.length > 0) {
      const swept = Math.max(leastSwept, Math.ceil(this.#otherUnit.size / sweepTicks));
      for (const lane of this.#unswept.splice(-swept)) if (lane.size > 0) lane.prices.revalueUnit(lane, nowMs);
    }
    for (let dueMs = this.#lanes.nextMs; dueMs <= nowMs; dueMs = this.#lanes.nextMs) {
      const lane = this.#lanes.pop(nowMs)!;
      if (lane.dueMs !== dueMs) continue;
      lane.dueMs = Number.POSITIVE_INFINITY;
      lane.evaluate(nowMs);
    }
  }

  /** Up to `limit` mints of which the market's state must be read. If they are not read, they are returned again later. */
  needed(limit: number, nowMs: number): string[] {
    const needed: string[] = [];
    while (needed.length < limit) {
      const dueMs = this.#reads.nextMs;
      const prices = this.#reads.pop(nowMs);
      if (prices === undefined) break;
      if (prices.readDueMs !== dueMs) continue;
      prices.readDueMs = Number.POSITIVE_INFINITY;
      if (this.#mints.get(prices.mint) !== prices || !this.#isUnread(prices, nowMs)) continue;
      this.read(prices, nowMs + readAgainMs.unanswered);
      needed.push(prices.mint);
    }
    return needed;
  }

  #isUnread({ processed, needsFacts, factsAtMs }: MintPrices, nowMs: number): boolean {
    return processed.tick === null || (needsFacts && nowMs - factsAtMs >= readAgainMs.facts);
  }

  takeRead(mint: string, read: PriceRead, nowMs: number): void {
    const prices = this.#mints.get(mint);
    if (prices === undefined) return;
    const { tick } = read;
    const isDead = tick !== null && this.fateOf(tick) === 'drop';
    prices.takeRead(isDead ? { ...read, tick: null } : read, nowMs);
    this.#note(prices);
    const againMs = prices.processed.tick === null ? readAgainMs.unpriced : readAgainMs.facts;
    prices.readDueMs = Number.POSITIVE_INFINITY;
    if (prices.processed.tick === null || prices.needsFacts) this.read(prices, nowMs + againMs);
  }

  watermarks(nowMs: number, note: (id: string, watermark: number) => void): void {
    for (const lane of this.#trailing) if (!lane.watermarks(nowMs, note)) this.#trailing.delete(lane);
  }

  fateOf({ slot, id, isSettled }: Pick<PriceTick, 'slot' | 'id' | 'isSettled'>): ConfirmedFate {
    if (this.#slots.isRetracted(slot, id)) return 'drop';
    return isSettled ? 'pass' : this.#slots.fateOfSlot(slot);
  }

  await(prices: MintPrices, slot: number): void {
    if (this.#slots.fateOfSlot(slot) !== 'wait') return;
    const all = this.#awaited.get(slot);
    if (all?.has(prices) === true) return;
    if (all === undefined) this.#awaited.set(slot, new Set([prices]));
    else all.add(prices);
    if (++this.#awaitedCount <= mostAwaited) return;
    const [[oldest, waiting]] = this.#awaited as unknown as [[number, Set<MintPrices>]];
    this.#endSlot(oldest, waiting);
    for (const one of waiting) one.release(oldest);
  }

  noteOtherUnit(lane: LevelLane): void {
    this.#otherUnit.add(lane);
  }

  noteTrailing(lane: LevelLane): void {
    this.#trailing.add(lane);
  }

  read(prices: MintPrices, dueMs: number): void {
    if (dueMs >= prices.readDueMs) return;
    prices.readDueMs = dueMs;
    this.#reads.push(prices, dueMs);
    if (this.#reads.length > mostStale + 2 * this.#mints.size) this.#reads.retain((one, atMs) => one.readDueMs === atMs);
  }

  schedule(lane: LevelLane, dueMs: number): void {
    if (dueMs >= lane.dueMs) return;
    lane.dueMs = dueMs;
    this.#lanes.push(lane, dueMs);
    if (this.#lanes.length > mostStale + 2 * this.#mints.size) this.#lanes.retain((one, atMs) => one.dueMs === atMs);
  }

  #endSlot(slot: number, all: Set<MintPrices>): void {
    this.#awaitedCount -= all.size;
    this.#awaited.delete(slot);
  }

  #note(prices: MintPrices): void {
    this.changed.add(prices);
  }
}
