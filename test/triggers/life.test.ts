import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isEnded, statesBefore, type StoredTrigger, type TriggerTerms } from '@sluice/gateway/store/trigger-model/trigger.ts';
import { ladderParts } from '../../trading/src/triggers/life/ladder.ts';
import { advance, attemptKey, initialProgress, type LifeStep, type TriggerEvent } from '../../trading/src/triggers/life/life.ts';
import { newTrigger, triggerTerms } from '../support/triggers/triggers.ts';

const startMs = 1_800_000_000_000;
const error = { code: 'SLIPPAGE_EXCEEDED', message: 'moved', detailsJson: '{}' };

/** One thing that the world does. What does not fit the state of the trigger is skipped. */
type Deed =
  | { readonly kind: 'met' | 'cancel' | 'over_time' | 'not_needed' | 'submitted' | 'confirmed' | 'failed' | 'expired' }
  | { readonly kind: 'pass'; readonly ms: number }
  | { readonly kind: 'refused'; readonly refusal: 'spent' | 'free' | 'final' };

const deed: fc.Arbitrary<Deed> = fc.oneof(
  { weight: 20, arbitrary: fc.record({ kind: fc.constantFrom('met', 'submitted', 'confirmed', 'failed', 'expired') }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('cancel', 'over_time', 'not_needed') }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('pass'), ms: fc.constantFrom(1, 900, 30_000) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('refused'), refusal: fc.constantFrom('spent', 'free', 'final') }) },
);

const terms: fc.Arbitrary<TriggerTerms> = fc.record({
  order: fc.constant(triggerTerms.order),
  when: fc.oneof(
    fc.constant(triggerTerms.when),
    fc.record({ kind: fc.constant('every' as const), everyMs: fc.constantFrom(2_000, 60_000), times: fc.constantFrom(1, 3) }),
  ),
  confirm: fc.constant('processed' as const),
  minDepthSol: fc.constant(1),
  holdMs: fc.constant(0),
  retries: fc.constantFrom(0, 1, 3),
  retryForMs: fc.constantFrom(0, 1_000, 60_000),
  ocoGroup: fc.constantFrom(null, 'g'),
  childIds: fc.constantFrom([], ['trg_child']),
  expiresAtMs: fc.constantFrom(null, startMs + 20_000),
});

/** A trigger and the one order that may be on its way, as the engine would hold them. */
class World {
  trigger: StoredTrigger;
  nowMs = startMs;
  /** An order of the current attempt may be placed. */
  mayPlace = false;
  openOrder: string | null = null;
  placed = 0;
  fills = 0;
  readonly keys = new Set<string>();

  constructor(of: TriggerTerms) {
    this.trigger = {
      ...newTrigger(startMs, { terms: of }),
      progress: initialProgress(of, startMs),
      cancelAsked: false,
      updatedAtMs: 0,
      version: 1,
    };
  }

  do(what: Deed): void {
    if (what.kind === 'pass') this.nowMs += what.ms;
    else if (what.kind === 'cancel') this.#cancel();
    else if (what.kind === 'submitted') this.#place();
    else if (what.kind === 'confirmed' || what.kind === 'failed' || what.kind === 'expired') this.#endOrder(what.kind);
    else if (what.kind === 'refused') this.#refuse(what.refusal);
    else if (what.kind === 'met') this.#note({ kind: 'met', cause: null, late: false });
    // The engine asks the store first.
    else if (this.openOrder === null) this.#note({ kind: what.kind });
  }

  #cancel(): void {
    const { state } = this.trigger;
    if (state === 'armed') this.trigger = { ...this.trigger, state: 'cancelled' };
    else if (state === 'firing') this.trigger = { ...this.trigger, cancelAsked: true };
  }

  #place(): void {
    const { state, cancelAsked, terms: of } = this.trigger;
    const isOver = of.expiresAtMs !== null && this.nowMs >= of.expiresAtMs;
    if (!this.mayPlace || state !== 'firing' || cancelAsked || isOver) return;
    const key = attemptKey(this.trigger);
    expect(this.keys.has(key), 'a key is used for one order').toBe(false);
    this.keys.add(key);
    this.mayPlace = false;
    this.openOrder = `ord_${++this.placed}`;
    this.#order('submitted', null);
  }

  #endOrder(state: 'confirmed' | 'failed' | 'expired'): void {
    if (this.openOrder === null) return;
    const { openOrder } = this;
    if (state === 'confirmed') this.fills++;
    const step = this.#order(state, state === 'confirmed' ? { baseAmount: 7n } : null);
    this.openOrder = null;
    expect(step?.armChildrenWith ?? null).toBe(state === 'confirmed' && this.trigger.terms.childIds.length > 0 ? 7n : null);
    expect(step?.endsGroup ?? false).toBe(state === 'confirmed' && this.trigger.terms.ocoGroup !== null);
    expect(this.trigger.orderId).toBe(openOrder);
  }

  #order(state: 'submitted' | 'confirmed' | 'failed' | 'expired', fill: { readonly baseAmount: bigint } | null): LifeStep | null {
    return this.#note({ kind: 'order', order: { id: this.openOrder!, state, fill, error: null } });
  }

  #refuse(refusal: 'spent' | 'free' | 'final'): void {
    if (!this.mayPlace || this.openOrder !== null || this.trigger.state !== 'firing') return;
    this.#note({ kind: 'refused', error, refusal });
  }

  #note(event: TriggerEvent): LifeStep | null {
    const before = this.trigger;
    const step = advance(before, event, this.nowMs);
    if (isEnded(before.state)) expect(step).toBeNull();
    if (step === null) return null;
    this.trigger = { ...before, ...step.change, version: before.version + 1 };
    this.#check(before, step);
    this.mayPlace = step.next === 'place' || step.next === 'again' || (step.next === 'follow' && this.mayPlace);
    return step;
  }

  #check(before: StoredTrigger, { next }: LifeStep): void {
    const { state, progress, terms: of, waitingFor } = this.trigger;
    expect(statesBefore(state)).toContain(before.state);
    expect(isEnded(state)).toBe(next === 'ended');
    expect(next === 'watch').toBe(state === 'armed');
    if (isEnded(state)) expect(waitingFor).toBeNull();
    if (state === 'failed') expect(this.trigger.error).not.toBeNull();
    if (state === 'fired') expect(this.trigger.error).toBeNull();
    if (state === 'firing') expect(progress.firingSinceMs).not.toBeNull();
    expect(progress.attempt).toBeLessThanOrEqual(1 + of.retries);
    if (next === 'again') {
      expect(this.nowMs).toBeLessThan(progress.firingSinceMs! + of.retryForMs);
      expect(before.cancelAsked).toBe(false);
      expect(of.expiresAtMs === null || this.nowMs < of.expiresAtMs).toBe(true);
    }
    if (next === 'place') expect(progress.firing).toBe(before.progress.firing + 1);
    if (next === 'watch' && of.when.kind === 'every') expect(progress.nextAtMs).toBeGreaterThan(this.nowMs);
  }
}

describe('the life of a trigger', () => {
  it('fires at most as often as it may, each attempt with a key of its own, and always ends with a reason', () => {
    const ends = new Map<string, number>();
    fc.assert(
      fc.property(terms, fc.array(deed, { maxLength: 40, size: 'max' }), (of, deeds) => {
        const world = new World(of);
        for (const one of deeds) world.do(one);
        const times = of.when.kind === 'every' ? of.when.times : 1;
        expect(world.fills).toBeLessThanOrEqual(times);
        expect(world.trigger.state === 'fired').toBe(world.fills === times || (world.fills > 0 && world.trigger.state === 'fired'));
        expect(world.placed).toBeLessThanOrEqual(times * (1 + of.retries));
        ends.set(world.trigger.state, (ends.get(world.trigger.state) ?? 0) + 1);
      }),
      { numRuns: 2_000 },
    );
    // The histories reach every state.
    for (const state of ['armed', 'firing', 'fired', 'cancelled', 'expired', 'failed'])
      expect(ends.get(state) ?? 0, state).toBeGreaterThan(8);
  });

  it('does a missed time of `every` once', () => {
    const when = { kind: 'every', everyMs: 2_000, times: 9 } as const;
    const progress = { ...initialProgress({ when }, startMs), firing: 1, attempt: 1, firingSinceMs: startMs };
    const trigger: StoredTrigger = {
      ...newTrigger(startMs, { state: 'firing', terms: { ...triggerTerms, when }, progress }),
      cancelAsked: false,
      updatedAtMs: 0,
      version: 2,
    };
    const order = { id: 'ord', state: 'confirmed', fill: null, error: null } as const;
    const nextAfter = (ms: number): unknown => advance(trigger, { kind: 'order', order }, startMs + ms)?.change.progress?.nextAtMs;
    expect([1_900, 2_000, 3_999, 7_100].map(nextAfter)).toEqual([4_000, 4_000, 4_000, 8_000].map((ms) => startMs + ms));
  });
});

describe('a ladder', () => {
  const child = (amount: number | string, ocoGroup: string | null = null): Pick<TriggerTerms, 'order' | 'ocoGroup'> => ({
    order: { ...triggerTerms.order, amount },
    ocoGroup,
  });

  it('sells its parts to the unit, for any amount', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 6 }),
        (amount, shares) => {
          const sum = shares.reduce((all, share) => all + share, 0);
          // The last one takes the rest of 100 %, if any is left.
          const all = sum < 100 ? [...shares, 100 - sum] : [100];
          const parts = ladderParts(
            all.map((share) => child(`${share}%`)),
            amount,
          );
          expect(parts.reduce((total, part) => total + part, 0n)).toBe(amount);
          for (const [index, part] of parts.entries())
            expect(Math.abs(Number(part - (amount * BigInt(all[index]!)) / 100n))).toBeLessThanOrEqual(1);
        },
      ),
    );
  });

  it('gives both sides of a pair the same part, and a stop for everything all of it', () => {
    const pairs = [child('50%', 'a'), child('50%', 'a'), child('50%', 'b'), child('50%', 'b')];
    expect(ladderParts(pairs, 7n)).toEqual([3n, 3n, 4n, 4n]);
    expect(ladderParts([child('50%'), child('50%'), child('100%')], 7n)).toEqual([3n, 4n, 7n]);
    expect(ladderParts([null, child('50%'), child(5)], 7n)).toEqual([0n, 3n, 7n]);
  });
});
