import type { ConfirmedFate } from '@sluice/shared/market/verdicts/confirmed-slots.ts';
import type { LaneTerms } from './armed.ts';
import { LevelLane, type LaneHost } from './lane.ts';
import type { PriceMetric } from '@sluice/shared/market/trigger-condition.ts';
import type { CurveGoal, PriceRead, PriceTick } from './watch.ts';

/** What is seen this far before the newest slot is not late: a node invented that slot, and it must not hold the price. */
const maxLateSlots = 64;
/** Ticks of a mint that can still be retracted. Above this limit, those that a later one of their slot replaced are dropped, then the oldest. */
const mostUndecided = 128;

/** What all mints share. */
export interface PriceContext extends LaneHost {
  fateOf(tick: PriceTick): ConfirmedFate;
  /** Calls `settle` when the fate of the slot is known. */
  await(prices: MintPrices, slot: number): void;
  /** Its price or its facts must be read from the market's state, from this time on. */
  read(prices: MintPrices, dueMs: number): void;
  /** The values of the lane may be in USD while the price of the pool is in SOL, or the other way round. */
  noteOtherUnit(lane: LevelLane): void;
  /** USD for one SOL; null if it is unknown or too old. */
  readonly solUsd: number | null;
  /** Unix ms since when the log was read without a loss. */
  readonly watchingSinceMs: number;
}

/** What is known of the price from one point of view: at `processed`, or of confirmed slots only. */
class PriceView {
  tick: PriceTick | null = null;
  readonly lanes: LevelLane[] = [];
}

/** The price of a mint in its main pool, and the watches that depend on it. */
export class MintPrices {
  readonly mint: string;
  readonly processed = new PriceView();
  readonly confirmed = new PriceView();
  /** Watches of the mint. */
  watches = 0;
  supply: number | null = null;
  goal: CurveGoal | null = null;
  /** When the market's state is read next, on the steady clock. */
  readDueMs = Number.POSITIVE_INFINITY;
  /** When facts were read that no tick shows, on the steady clock. */
  factsAtMs = Number.NEGATIVE_INFINITY;
  readonly #context: PriceContext;
  /** Ticks of undecided slots, by slot, and within a slot in log order. */
  #undecided: PriceTick[] = [];
  /** The newest tick that is decided. */
  #decided: PriceTick | null = null;

  constructor(mint: string, context: PriceContext) {
    this.mint = mint;
    this.#context = context;
  }

  get undecided(): number {
    return this.#undecided.length;
  }

  view(confirm: 'processed' | 'confirmed'): PriceView {
    return confirm === 'confirmed' ? this.confirmed : this.processed;
  }

  /** The lane of these terms; a new one has the current value. */
  lane(confirm: 'processed' | 'confirmed', terms: LaneTerms, nowMs: number): LevelLane {
    const view = this.view(confirm);
    const { metric, sign, isTrailing, holdMs, minDepthSol } = terms;
    const known = view.lanes.find(
      ({ terms: its }) =>
        its.metric === metric &&
        its.sign === sign &&
        its.isTrailing === isTrailing &&
        its.holdMs === holdMs &&
        its.minDepthSol === minDepthSol,
    );
    if (known !== undefined) return known;
    const lane = new LevelLane(terms, this, confirm, this.#context);
    view.lanes.push(lane);
    if (unitOf(metric) === 'usd') this.#context.noteOtherUnit(lane);
    if (!isPrice(metric)) this.#context.read(this, nowMs);
    if (view.tick !== null) lane.step(this.#counted(view.tick, terms), view.tick.slot, nowMs, 0);
    return lane;
  }

  /** Whether a watch needs facts that no tick shows. */
  get needsFacts(): boolean {
    return [this.processed, this.confirmed].some(({ lanes }) => lanes.some(({ terms }) => !isPrice(terms.metric)));
  }

  removeEmptyLanes(): void {
    for (const { lanes } of [this.processed, this.confirmed]) {
      for (let at = lanes.length - 1; at >= 0; at--) if (lanes[at]!.size === 0) lanes.splice(at, 1);
    }
  }

  /** A tick of a slot that is not dead. Returns whether it is the newest. */
  take(tick: PriceTick, nowMs: number): boolean {
    const newest = this.processed.tick;
    const isOlder = newest !== null && tick.slot < newest.slot;
    if (isOlder && newest.slot - tick.slot > maxLateSlots) {
      this.#undecided = this.#undecided.filter(({ slot }) => slot <= tick.slot + maxLateSlots);
      if (this.#decided !== null && this.#decided.slot > tick.slot + maxLateSlots) this.#decided = null;
      if (this.confirmed.tick !== null && this.confirmed.tick.slot > tick.slot + maxLateSlots) this.confirmed.tick = null;
    } else if (isOlder) {
      this.#note(tick, nowMs);
      return false;
    }
    this.#step(this.processed, tick, nowMs);
    this.#note(tick, nowMs);
    return true;
  }

  /** The fate of some slots may be known now. */
  settle(nowMs: number): void {
    const undecided = this.#undecided;
    const alive = undecided.filter((tick) => this.#context.fateOf(tick) !== 'drop');
    if (alive.length < undecided.length) {
      this.#undecided = alive;
      this.#restart(nowMs);
    }
    let decided = 0;
    for (const tick of alive) {
      if (this.#context.fateOf(tick) === 'wait') break;
      decided++;
      if (this.#decided === null || tick.slot >= this.#decided.slot) this.#decided = tick;
      const isEnd = alive[decided]?.slot !== tick.slot;
      if (isEnd && tick.slot >= (this.confirmed.tick?.slot ?? 0)) this.#step(this.confirmed, tick, nowMs);
    }
    if (decided > 0) this.#undecided = alive.slice(decided);
  }

  /** Forgets the ticks of a slot whose fate is never known. They remain the price at `processed`. */
  release(slot: number): void {
    for (const tick of this.#undecided) if (tick.slot === slot && slot >= (this.#decided?.slot ?? 0)) this.#decided = tick;
    this.#undecided = this.#undecided.filter((tick) => tick.slot !== slot);
  }

  retract(id: string, nowMs: number): void {
    const at = this.#undecided.findLastIndex((tick) => tick.id === id);
    if (at === -1) return;
    this.#undecided.splice(at, 1);
    this.#restart(nowMs);
  }

  /** The log lost entries: nothing is known until the next tick, or until the price is read. */
  lose(nowMs: number): void {
    this.#undecided = [];
    this.#decided = null;
    for (const view of [this.processed, this.confirmed]) {
      view.tick = null;
      for (const lane of view.lanes) lane.restart(null, Number.NaN, nowMs);
    }
  }

  takeRead({ tick, supply, goal }: PriceRead, nowMs: number): void {
    this.factsAtMs = nowMs;
    const isNew = supply !== this.supply || goal?.to !== this.goal?.to || goal?.from !== this.goal?.from;
    this.supply = supply;
    this.goal = goal;
    for (const { tick: at, lanes } of isNew ? [this.processed, this.confirmed] : []) {
      if (at === null) continue;
      for (const lane of lanes) if (!isPrice(lane.terms.metric)) lane.step(this.#counted(at, lane.terms), Number.NaN, nowMs, 0);
    }
    const newest = this.processed.tick;
    if (tick !== null && (newest === null || tick.slot > newest.slot)) this.take(tick, nowMs);
  }

  /** The price of SOL has changed, and with it values in a unit that is not that of the pool. */
  revalueUnit(lane: LevelLane, nowMs: number): void {
    const { tick } = this.view(lane.confirm);
    const unit = unitOf(lane.terms.metric);
    if (tick !== null && unit !== null && unit !== tick.unit) lane.step(this.#counted(tick, lane.terms), Number.NaN, nowMs, 0);
  }

  /** The value of a metric at a tick, even if its pool is too shallow; null if it is unknown. */
  valueAt({ price, unit, curve }: PriceTick, metric: PriceMetric): number | null {
    const inUnit = unitOf(metric);
    if (inUnit === null) return progressOf(this.goal, curve);
    const { solUsd } = this.#context;
    if (inUnit !== unit && solUsd === null) return null;
    const inSame = inUnit === unit ? price : inUnit === 'usd' ? price * solUsd! : price / solUsd!;
    if (isPrice(metric)) return finite(inSame);
    return this.supply === null ? null : finite(inSame * this.supply);
  }

  /** Null also if the pool holds too little. */
  #counted(tick: PriceTick, { metric, minDepthSol }: LaneTerms): number | null {
    return isTooShallow(tick, minDepthSol) ? null : this.valueAt(tick, metric);
  }

  #step(view: PriceView, tick: PriceTick, nowMs: number): void {
    const { watchingSinceMs } = this.#context;
    const isUnseen = view.tick === null || tick.receivedUs < watchingSinceMs * 1000;
    view.tick = tick;
    const { lanes } = view;
    for (let at = 0; at < lanes.length; at++) {
      const lane = lanes[at]!;
      if (tick.unit === 'usd') this.#context.noteOtherUnit(lane);
      lane.step(this.#counted(tick, lane.terms), tick.slot, nowMs, isUnseen ? watchingSinceMs : 0);
    }
  }

  #note(tick: PriceTick, nowMs: number): void {
    const undecided = this.#undecided;
    let at = undecided.length;
    while (at > 0 && undecided[at - 1]!.slot > tick.slot) at--;
    undecided.splice(at, 0, tick);
    if (!tick.isSettled) this.#context.await(this, tick.slot);
    if (undecided.length > mostUndecided) {
      const replaced = undecided.findIndex(({ slot }, place) => undecided[place + 1]?.slot === slot);
      undecided.splice(Math.max(0, replaced), 1);
    }
    if (this.#context.fateOf(undecided[0]!) !== 'wait') this.settle(nowMs);
  }

  /** Ticks are gone. The newest surviving one is the price. */
  #restart(nowMs: number): void {
    const last = this.#undecided.at(-1) ?? null;
    const tick = last === null || (this.#decided?.slot ?? 0) > last.slot ? this.#decided : last;
    this.processed.tick = tick;
    if (tick === null) this.#context.read(this, nowMs);
    for (const lane of this.processed.lanes) {
      if (tick === null) lane.restart(null, Number.NaN, nowMs);
      else lane.restart(this.#counted(tick, lane.terms), tick.slot, nowMs);
    }
  }
}

export function isTooShallow({ heldSol }: PriceTick, minDepthSol: number): boolean {
  return minDepthSol > 0 && (heldSol ?? 0) < minDepthSol;
}

const isPrice = (metric: PriceMetric): boolean => metric === 'priceSol' || metric === 'priceUsd';

/** The unit of a metric that is money; null of the others. */
export function unitOf(metric: PriceMetric): 'sol' | 'usd' | null {
  if (metric === 'curveProgress') return null;
  return metric === 'priceUsd' || metric === 'marketCapUsd' ? 'usd' : 'sol';
}

function progressOf(goal: CurveGoal | null, curve: PriceTick['curve']): number | null {
  if (goal === null) return null;
  if (curve === null || goal.from === goal.to) return 100;
  const part = (curve[goal.reserve] - Number(goal.from)) / (Number(goal.to) - Number(goal.from));
  return finite(Math.min(100, Math.max(0, part * 100)));
}

function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}
