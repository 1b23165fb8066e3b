import type { ArmedLevel, LaneTerms, ThresholdList } from './armed.ts';
import { HeldExtreme } from './held-extreme.ts';
import { LevelList } from './level-list.ts';
import type { MintPrices } from './mint-prices.ts';
import { TrailingList } from './trailing-list.ts';

/** What a lane needs of its index. */
export interface LaneHost {
  /** The condition holds: it waits to be taken. */
  meet(armed: ArmedLevel): void;
  /** It does not hold any more. */
  unmeet(armed: ArmedLevel): void;
  /** Calls `evaluate` at this time of the steady clock. */
  schedule(lane: LevelLane, dueMs: number): void;
  /** A watermark of the lane may change until `holdMs` from now. */
  noteTrailing(lane: LevelLane): void;
}

const unknown = Number.POSITIVE_INFINITY;

/**
 * The watches of a mint that count the same values in the same way: one metric, one direction, one hold, one least depth. A value costs a comparison
 * with the nearest threshold. Only while that is reached, the lane remembers values, in order to know how long it has been reached.
 */
export class LevelLane {
  readonly terms: LaneTerms;
  readonly prices: MintPrices;
  readonly confirm: 'processed' | 'confirmed';
  /** Watches that are not gone. */
  size = 0;
  /** When it is evaluated next, on the steady clock. */
  dueMs = Number.POSITIVE_INFINITY;
  readonly #host: LaneHost;
  readonly #list: ThresholdList;
  readonly #trailing: TrailingList | null;
  /** Watches whose value is reached for long enough. Those that were armed a short time ago wait for the rest of their hold. */
  #out: ArmedLevel[] = [];
  /** The value times `sign`; infinite while none counts. */
  #value = unknown;
  #slot = Number.NaN;
  #high: HeldExtreme | null = null;
  /** Of the negative value. Only of trailing watches. */
  #low: HeldExtreme | null = null;
  /** The highest value since a late one, with it; and the watches that were armed before this time (Unix ms) had missed that one. */
  #lateValue = unknown;
  #lateMs = 0;
  /** The last step or arming, on the steady clock. Only of trailing watches. */
  #trailingAtMs = 0;

  constructor(terms: LaneTerms, prices: MintPrices, confirm: 'processed' | 'confirmed', host: LaneHost) {
    this.terms = terms;
    this.prices = prices;
    this.confirm = confirm;
    this.#host = host;
    this.#trailing = terms.isTrailing ? new TrailingList() : null;
    this.#list = this.#trailing ?? new LevelList();
  }

  /** The value of the metric now; null if none counts. */
  get value(): number | null {
    return this.#value === unknown ? null : this.#value * this.terms.sign;
  }

  get slot(): number | null {
    return Number.isNaN(this.#slot) ? null : this.#slot;
  }

  isLate({ key, armedAtMs }: ArmedLevel): boolean {
    return armedAtMs < this.#lateMs && key >= this.#lateValue;
  }

  *watches(): Iterable<ArmedLevel> {
    yield* this.#list.all();
    yield* this.#out;
  }

  arm(armed: ArmedLevel, nowMs: number): void {
    this.size++;
    this.#list.add(armed);
    if (this.#trailing !== null) this.#noteTrailing(nowMs);
    if (this.#trailing === null && this.#value > this.#list.best) return;
    this.#begin(nowMs);
    this.evaluate(nowMs);
  }

  /** The watch is gone. */
  drop(armed: ArmedLevel): void {
    this.size--;
    armed.isGone = true;
    if (!armed.isOut) this.#list.noteGone();
  }

  /**
   * The next value in the order of the chain; null if none counts any more. `slot`: NaN if it is of no slot. `lateMs`: not 0 if the value may have been
   * reached unseen, by watches that were armed before this time (Unix ms).
   */
  step(value: number | null, slot: number, nowMs: number, lateMs: number): void {
    const signed = value === null ? unknown : value * this.terms.sign;
    if (lateMs > 0) this.#lateMs = lateMs;
    if (lateMs > 0 || signed > this.#lateValue) this.#lateValue = signed;
    const isFar = this.#trailing === null && this.#out.length === 0 && signed > this.#list.best;
    const high = this.#high;
    if (isFar && high === null) {
      this.#value = signed;
      this.#slot = slot;
      return;
    }
    // A value that is replaced within its slot ends nothing.
    if (isFar && high !== null && !high.isOfSlot(slot) && high.current > this.#list.best) this.#high = null;
    this.#raise(nowMs);
    this.#value = signed;
    this.#slot = slot;
    if (this.#high === null) {
      if (isFar) return;
      this.#begin(nowMs);
    } else {
      this.#high.push(nowMs, signed, slot);
      this.#low?.push(nowMs, signed === unknown ? unknown : -signed, slot);
    }
    if (this.#trailing !== null) this.#noteTrailing(nowMs);
    this.evaluate(nowMs);
  }

  /** Begins again with a value, because what was known before does not count any more: all holds begin now. */
  restart(value: number | null, slot: number, nowMs: number): void {
    this.#raise(nowMs);
    this.#high = this.#low = null;
    this.#value = unknown;
    this.#dropBack();
    this.step(value, slot, nowMs, 0);
  }

  evaluate(nowMs: number): void {
    const high = this.#high;
    if (high === null) return;
    this.#raise(nowMs);
    const reached = high.max(nowMs, this.terms.holdMs);
    let dueMs = Number.POSITIVE_INFINITY;
    if (this.#out.length > 0 || this.#list.best >= reached) {
      const out = [...this.#out.filter((armed) => this.#stays(armed, reached)), ...this.#list.takeFrom(reached)];
      for (const armed of out) {
        armed.isOut = true;
        if (armed.isMet) continue;
        if (armed.holdsFromMs > nowMs) dueMs = Math.min(dueMs, armed.holdsFromMs);
        else this.#meet(armed);
      }
      this.#out = out;
    }
    const { best } = this.#list;
    if (best >= this.#value) dueMs = Math.min(dueMs, (high.lastAbove(best) ?? nowMs) + this.terms.holdMs);
    if (dueMs < Number.POSITIVE_INFINITY) this.#host.schedule(this, dueMs);
  }

  /** The watermarks of trailing watches that changed since the last call. Returns whether one may still change without a step. */
  watermarks(nowMs: number, note: (id: string, watermark: number) => void): boolean {
    const { sign } = this.terms;
    this.#raise(nowMs);
    this.#trailing?.changedWatermarks((id, watermark) => note(id, watermark * sign));
    for (const armed of this.#out) {
      if (armed.isChanged && !armed.isGone) note(armed.id, armed.watermark! * sign);
      armed.isChanged = false;
    }
    return nowMs - this.#trailingAtMs < this.terms.holdMs;
  }

  #noteTrailing(nowMs: number): void {
    this.#trailingAtMs = nowMs;
    this.#host.noteTrailing(this);
  }

  #begin(nowMs: number): void {
    this.#high ??= new HeldExtreme(nowMs, this.#value, this.#slot);
    if (this.#trailing !== null) this.#low ??= new HeldExtreme(nowMs, this.#value === unknown ? unknown : -this.#value, this.#slot);
  }

  /** The lowest value of the time that a value must be held is the new watermark. */
  #raise(nowMs: number): void {
    if (this.#trailing === null || this.#low === null) return;
    const held = -this.#low.max(nowMs, this.terms.holdMs);
    if (held > Number.NEGATIVE_INFINITY) this.#trailing.raise(held, nowMs);
  }

  #meet(armed: ArmedLevel): void {
    armed.isMet = true;
    this.#host.meet(armed);
  }

  /** False if the watch goes back to its list, or is gone. */
  #stays(armed: ArmedLevel, reached: number): boolean {
    if (armed.isGone) return false;
    if (armed.key >= reached) return true;
    this.#putBack(armed);
    return false;
  }

  #putBack(armed: ArmedLevel): void {
    armed.isOut = false;
    if (armed.isMet) {
      armed.isMet = false;
      this.#host.unmeet(armed);
    }
    this.#list.add(armed);
  }

  #dropBack(): void {
    for (const armed of this.#out.splice(0)) if (!armed.isGone) this.#putBack(armed);
  }
}
