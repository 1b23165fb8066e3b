import * as fc from 'fast-check';
import { inProcessLimiter, LocalLimits } from '@sluice/gateway/ratelimit/local-limits.ts';
import { decisionOf, gcraOf, takeFrom, type Gcra, type Taken } from '@sluice/gateway/ratelimit/gcra.ts';
import type { LimitClock, LimitDecision, Quota } from '@sluice/gateway/ratelimit/limiter.ts';
import type { SharedLimits } from '@sluice/gateway/ratelimit/redis-limits.ts';
import { SharedLimiter } from '@sluice/gateway/ratelimit/shared-limiter.ts';
import { RedisFault } from '@sluice/shared/bus/bus-error.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { describe, expect, it } from 'vitest';

const log = createLog({ level: 'silent', name: 'test' });
const quotas: fc.Arbitrary<Quota> = fc.record({
  perMinute: fc.oneof(fc.integer({ min: 1, max: 600_000 }), fc.constantFrom(1, 7, 60, 100, 1_000, 60_000, 599_999)),
  burst: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 10_000 })),
});

interface Admission {
  readonly atUs: number;
  readonly cost: number;
}

/** No window holds more than burst + rate × its length, in exact integers. */
function expectWithin(admissions: readonly Admission[], { intervalUs, burst }: Gcra): void {
  for (let from = 0; from < admissions.length; from++) {
    let cost = 0;
    for (let to = from; to < admissions.length; to++) {
      cost += admissions[to]!.cost;
      const roomUs = burst * intervalUs + admissions[to]!.atUs - admissions[from]!.atUs;
      if (cost * intervalUs > roomUs) throw new Error(`${cost} admitted from ${admissions[from]!.atUs} to ${admissions[to]!.atUs}`);
    }
  }
}

describe('the limiting algorithm', () => {
  it('admits at most burst + rate × time over every window, for any requests', () => {
    const asks = fc.array(fc.record({ gap: fc.double({ min: 0, max: 3, noNaN: true }), cost: fc.integer({ min: 1, max: 5 }) }), {
      maxLength: 120,
    });
    fc.assert(
      fc.property(quotas, asks, (quota, list) => {
        const gcra = gcraOf(quota);
        const limits = new LocalLimits();
        const admitted: Admission[] = [];
        let nowUs = 1_000_000;
        for (const { gap, cost } of list) {
          // Some gaps are zero, some longer than the burst takes to recover.
          nowUs += gap < 1 ? 0 : Math.floor((gap - 1) ** 4 * gcra.intervalUs * gcra.burst);
          if (limits.take('key', gcra, cost, nowUs).admitted) admitted.push({ atUs: nowUs, cost: Math.min(cost, gcra.burst) });
        }
        expectWithin(admitted, gcra);
      }),
      { numRuns: 2_000 },
    );
  });

  it('refuses only as long as necessary: a microsecond before the reported time it refuses, at that time it admits', () => {
    fc.assert(
      fc.property(quotas, fc.double({ min: 0, max: 1, noNaN: true }), fc.integer({ min: 1, max: 20 }), (quota, fill, cost) => {
        const gcra = gcraOf(quota);
        const debtUs = Math.floor(fill * gcra.burst * gcra.intervalUs);
        const taken = takeFrom(debtUs, gcra, cost);
        if (taken.admitted) return;
        expect(takeFrom(debtUs - taken.waitUs + 1, gcra, cost).admitted).toBe(false);
        expect(takeFrom(debtUs - taken.waitUs, gcra, cost).admitted).toBe(true);
      }),
      { numRuns: 5_000 },
    );
  });

  it('never refuses a client twice in a row if it waits as reported', () => {
    fc.assert(
      fc.property(quotas, fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 60 }), (quota, costs) => {
        let nowUs = 0;
        const limiter = inProcessLimiter({ nowUs: () => nowUs });
        for (const cost of costs) {
          const first = limiter.take('key', quota, cost) as LimitDecision;
          if (first.admitted) continue;
          expect(first.retryAfterMs).toBeGreaterThan(0);
          nowUs += first.retryAfterMs * 1000;
          expect(limiter.take('key', quota, cost)).toMatchObject({ admitted: true, retryAfterMs: 0 });
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it('reports what is left: exactly that many single requests are admitted at once', () => {
    const small = quotas.map(({ perMinute, burst }) => ({ perMinute, burst: Math.min(burst, 200) }));
    fc.assert(
      fc.property(small, fc.nat(300), (quota, before) => {
        const limiter = inProcessLimiter({ nowUs: () => 5 });
        const take = (cost: number): LimitDecision => limiter.take('key', quota, cost) as LimitDecision;
        for (let i = 0; i < before; i++) take(1);
        const { remaining } = take(0);
        expect(remaining).toBe(Math.max(0, quota.burst - before));
        for (let i = 0; i < remaining; i++) expect(take(1)).toMatchObject({ admitted: true, remaining: remaining - i - 1 });
        expect(take(1).admitted).toBe(false);
        expect(take(0).remaining).toBe(0);
      }),
      { numRuns: 300 },
    );
  });

  it('is full again after the reported time, and not before', () => {
    fc.assert(
      fc.property(quotas, fc.integer({ min: 1, max: 50 }), (quota, takes) => {
        const gcra = gcraOf(quota);
        let debtUs = 0;
        for (let i = 0; i < takes; i++) debtUs = takeFrom(debtUs, gcra, 1).debtUs;
        const { resetMs } = decisionOf(takeFrom(debtUs, gcra, 0), gcra, 'shared');
        expect(takeFrom(debtUs - resetMs * 1000, gcra, gcra.burst).admitted).toBe(true);
        expect(takeFrom(debtUs - (resetMs - 1) * 1000, gcra, gcra.burst).admitted).toBe(false);
      }),
    );
  });

  it('stores no key that is full again, and no more keys than its bound', () => {
    const gcra = gcraOf({ perMinute: 60, burst: 5 });
    const bounded = new LocalLimits(100);
    for (let i = 0; i < 1_000; i++) {
      bounded.take(`key-${i}`, gcra, 1, 0);
      expect(bounded.size).toBeLessThanOrEqual(100);
    }
    const limits = new LocalLimits();
    for (let i = 0; i < 5_000; i++) limits.take(`key-${i}`, gcra, 1, i * 100_000);
    // One interval is a second: of those at ten a second some ten owe anything.
    expect(limits.size).toBeLessThan(50);
  });
});

// --- Several gateways, one Redis, in any order of what happens between them.

type Step =
  | { readonly kind: 'take'; readonly gateway: number; readonly cost: number }
  | { readonly kind: 'deliver' }
  | { readonly kind: 'pass'; readonly ms: number }
  | { readonly kind: 'redis'; readonly state: 'up' | 'stalled' | 'down' | 'emptied' };

/** A Redis whose answers arrive when the scheduler allows; like the real one, it runs one command at a time. */
class ModelRedis {
  state: 'up' | 'stalled' | 'down' = 'up';
  troubled = false;
  nowUs = 1e9;
  limits = new LocalLimits();
  #resumed: (() => void)[] = [];
  readonly #scheduler: fc.Scheduler;

  constructor(scheduler: fc.Scheduler) {
    this.#scheduler = scheduler;
  }

  set(state: 'up' | 'stalled' | 'down' | 'emptied'): void {
    this.troubled ||= state !== 'up';
    if (state === 'emptied') this.limits = new LocalLimits();
    else this.state = state;
    if (this.state === 'stalled') return;
    for (const resume of this.#resumed) resume();
    this.#resumed = [];
  }

  connect(): SharedLimits {
    const hop = async (name: string): Promise<void> => {
      await this.#scheduler.schedule(Promise.resolve(), name);
      if (this.state === 'stalled') await new Promise<void>((resolve) => this.#resumed.push(resolve));
      if (this.state === 'down') throw new RedisFault('link', '', new Error('down'));
    };
    const take: SharedLimits['take'] = async (key, gcra, cost) => {
      await hop('request');
      const taken = this.limits.take(key, gcra, cost, this.nowUs);
      await hop('answer');
      return taken;
    };
    return { take, probe: async () => void (await take('probe', { intervalUs: 1, burst: 1 }, 0)), close: () => undefined };
  }
}

interface Timer {
  readonly dueUs: number;
  readonly call: () => void;
}

/** A gateway's clock; each shows another time. */
class ModelClock implements LimitClock {
  readonly timers = new Set<Timer>();
  readonly #redis: ModelRedis;
  readonly #offsetUs: number;

  constructor(redis: ModelRedis, offsetUs: number) {
    this.#redis = redis;
    this.#offsetUs = offsetUs;
  }

  nowUs(): number {
    return this.#redis.nowUs + this.#offsetUs;
  }

  after(delayMs: number, call: () => void): () => void {
    const timer: Timer = { dueUs: this.nowUs() + delayMs * 1000, call };
    this.timers.add(timer);
    return () => void this.timers.delete(timer);
  }

  fire(): void {
    for (const timer of this.timers) {
      if (timer.dueUs > this.nowUs() || !this.timers.delete(timer)) continue;
      timer.call();
    }
  }
}

interface Answered extends Admission {
  readonly gateway: number;
  readonly decision: LimitDecision;
}

const gatewayCount = 4;
/** The longest time that a request waits for Redis. */
const longestWaitUs = 50_000;

class World {
  readonly redis: ModelRedis;
  readonly clocks: readonly ModelClock[];
  readonly limiters: readonly SharedLimiter[];
  readonly answered: Answered[] = [];
  /** The start time of each waiting request. */
  readonly waiting = new Set<{ readonly atUs: number }>();
  asked = 0;
  readonly #scheduler: fc.Scheduler;
  readonly #quota: Quota;

  constructor(scheduler: fc.Scheduler, quota: Quota, skewsUs: readonly number[]) {
    this.#scheduler = scheduler;
    this.#quota = quota;
    this.redis = new ModelRedis(scheduler);
    this.clocks = skewsUs.map((skewUs) => new ModelClock(this.redis, skewUs));
    this.limiters = this.clocks.map(
      (clock) => new SharedLimiter({ shared: this.redis.connect(), gateways: () => gatewayCount, clock, log }),
    );
  }

  async carryOut(step: Step): Promise<void> {
    if (step.kind === 'take') this.#take(step.gateway, step.cost);
    else if (step.kind === 'redis') this.redis.set(step.state);
    else if (step.kind === 'deliver') {
      if (this.#scheduler.count() > 0) await this.#scheduler.waitOne();
    } else {
      this.redis.nowUs += step.ms * 1000;
      for (const clock of this.clocks) clock.fire();
    }
    await settle();
    for (const { atUs } of this.waiting) expect(this.redis.nowUs - atUs).toBeLessThan(longestWaitUs);
  }

  #take(gateway: number, cost: number): void {
    this.asked++;
    const asked = { atUs: this.redis.nowUs };
    this.waiting.add(asked);
    const note = (decision: LimitDecision): void => {
      this.waiting.delete(asked);
      this.answered.push({ gateway, cost, decision, atUs: this.redis.nowUs });
    };
    const outcome = this.limiters[gateway]!.take('key', this.#quota, cost);
    if (outcome instanceof Promise) void outcome.then(note);
    else note(outcome);
  }

  /** Completes everything that is running. */
  async finish(): Promise<void> {
    this.redis.set('up');
    for (let round = 0; round < 12; round++) {
      while (this.#scheduler.count() > 0) await this.carryOut({ kind: 'deliver' });
      await this.carryOut({ kind: 'pass', ms: 60 });
    }
  }

  admitted(counted: LimitDecision['counted'], gateway?: number): Answered[] {
    return this.answered.filter(
      (one) => one.decision.admitted && one.decision.counted === counted && (gateway === undefined || one.gateway === gateway),
    );
  }
}

/** Runs everything that is due now. */
async function settle(): Promise<void> {
  for (let i = 0; i < 12; i++) await Promise.resolve();
}

const take = fc.record({ kind: fc.constant('take' as const), gateway: fc.nat(gatewayCount - 1), cost: fc.integer({ min: 1, max: 2 }) });
const deliver = fc.constant({ kind: 'deliver' as const });
const pass = fc.record({ kind: fc.constant('pass' as const), ms: fc.constantFrom(1, 5, 20, 60, 200) });
const trouble = fc.record({ kind: fc.constant('redis' as const), state: fc.constantFrom('up', 'up', 'stalled', 'down', 'emptied') });
const skews = fc.array(fc.integer({ min: -9e8, max: 9e12 }), { minLength: gatewayCount, maxLength: gatewayCount });
const someQuota = fc.record({ perMinute: fc.constantFrom(60, 600, 6_000), burst: fc.integer({ min: 1, max: 40 }) });

describe('gateways that count together', () => {
  it('admit together at most burst + rate × time, for any clocks and any order of answers', async () => {
    const steps = fc.array(
      fc.oneof(
        { weight: 4, arbitrary: take },
        { weight: 6, arbitrary: deliver },
        { weight: 1, arbitrary: fc.constant({ kind: 'pass' as const, ms: 1 }) },
      ),
      { maxLength: 150 },
    );
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), someQuota, skews, steps, async (scheduler, quota, skewsUs, list) => {
        const world = new World(scheduler, quota, skewsUs);
        for (const step of list) await world.carryOut(step);
        while (scheduler.count() > 0) await world.carryOut({ kind: 'deliver' });
        await world.finish();
        expect(world.answered).toHaveLength(world.asked);
        // A Redis that was only slow may be given up after 50 ms; here it never is that slow while something waits.
        const gcra = gcraOf(quota);
        const shared = world.admitted('shared').reduce((sum, { cost }) => sum + Math.min(cost, gcra.burst), 0);
        const spentUs = world.redis.nowUs - 1e9;
        expect(shared * gcra.intervalUs).toBeLessThanOrEqual(gcra.burst * gcra.intervalUs + spentUs);
      }),
      { numRuns: 300 },
    );
  });

  it('are limited to their share while Redis is unavailable, answer every request once, and count together again afterwards', async () => {
    const steps = fc.array(
      fc.oneof(
        { weight: 5, arbitrary: take },
        { weight: 6, arbitrary: deliver },
        { weight: 2, arbitrary: pass },
        { weight: 1, arbitrary: trouble },
      ),
      { maxLength: 200 },
    );
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), someQuota, skews, steps, async (scheduler, quota, skewsUs, list) => {
        const world = new World(scheduler, quota, skewsUs);
        const emptied = list.filter((step) => step.kind === 'redis' && step.state === 'emptied').length;
        for (const step of list) await world.carryOut(step);
        await world.finish();
        expect(world.answered).toHaveLength(world.asked);
        const gcra = gcraOf(quota);
        const share = gcraOf({ perMinute: quota.perMinute / gatewayCount, burst: quota.burst / gatewayCount });
        const spentUs = world.redis.nowUs - 1e9;
        const shared = world.admitted('shared').reduce((sum, { cost }) => sum + Math.min(cost, gcra.burst), 0);
        // A Redis that lost its memory gives a new burst.
        expect(shared * gcra.intervalUs).toBeLessThanOrEqual((1 + emptied) * gcra.burst * gcra.intervalUs + spentUs);
        for (let gateway = 0; gateway < gatewayCount; gateway++) {
          const own = world.admitted('local', gateway).map(({ atUs, cost }) => ({ atUs, cost: Math.min(cost, share.burst) }));
          expectWithin(own, share);
        }
        for (let gateway = 0; gateway < gatewayCount; gateway++) await world.carryOut({ kind: 'take', gateway, cost: 1 });
        while (scheduler.count() > 0) await world.carryOut({ kind: 'deliver' });
        expect(world.answered.slice(-gatewayCount).map(({ decision }) => decision.counted)).toEqual(Array(gatewayCount).fill('shared'));
      }),
      { numRuns: 300 },
    );
  });
});

describe('a gateway whose Redis lies', () => {
  const number = fc.oneof(fc.constantFrom(0, -1e15, 1e18, Number.NaN, Number.POSITIVE_INFINITY), fc.integer({ min: 0, max: 1e8 }));
  const answers = fc.record({ admitted: fc.constantFrom(true, true, true, false), debtUs: number, waitUs: number });
  const asks = fc.array(fc.record({ answer: answers, gapMs: fc.constantFrom(0, 0, 1, 50, 700), cost: fc.integer({ min: 0, max: 3 }) }), {
    maxLength: 200,
  });

  it('admits its burst, its rate and the requests of one more second, even if Redis lies, and reports only possible values', async () => {
    await fc.assert(
      fc.asyncProperty(someQuota, asks, async (quota, list) => {
        let nowUs = 1e9;
        let answer: Taken = { admitted: true, debtUs: 0, waitUs: 0 };
        const shared: SharedLimits = { take: () => Promise.resolve(answer), probe: () => Promise.resolve(), close: () => undefined };
        const clock: LimitClock = { nowUs: () => nowUs, after: () => () => undefined };
        const limiter = new SharedLimiter({ shared, gateways: () => 1, clock, log });
        const admissions: Admission[] = [];
        for (const ask of list) {
          nowUs += ask.gapMs * 1000;
          answer = ask.answer;
          const { admitted, remaining, resetMs, retryAfterMs } = await limiter.take('key', quota, ask.cost);
          expect([remaining, resetMs, retryAfterMs].every((one) => Number.isSafeInteger(one) && one >= 0)).toBe(true);
          if (admitted && ask.cost > 0) admissions.push({ atUs: nowUs, cost: Math.min(ask.cost, quota.burst) });
        }
        expectWithin(admissions, gcraOf({ ...quota, burst: quota.burst + 1 + quota.perMinute / 60 }));
      }),
      { numRuns: 500 },
    );
  });
});
