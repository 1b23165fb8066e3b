import { RedisFault } from '@sluice/shared/bus/bus-error.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { decisionOf, gcraOf, type Gcra, type Taken } from './gcra.ts';
import { processClock, type CountingLimiter, type LimitClock, type LimitDecision, type Quota } from './limiter.ts';
import { inProcessLimiter, LocalLimits } from './local-limits.ts';
import { openRedisLimits, type SharedLimits } from './redis-limits.ts';

/** How long a request waits for Redis before it is counted locally. */
const defaultAnswerWithinMs = 50;
/** How often it is checked whether Redis answers again. */
const probeEveryMs = 100;
/** Takes that wait for Redis at one time. One more is counted locally at once. */
const maxPending = 10_000;
/** Answers of Redis may arrive late and together. So this gateway admits as many requests above the burst as the rate allows in this time. */
const ceilingSlackMs = 1_000;
/** Errors of Redis that are not an outage are logged at most this often. */
const refusalLogEveryUs = 60e6;

interface Pending {
  readonly atUs: number;
  /** Counts it locally instead; does nothing if it was answered. */
  readonly giveUp: () => void;
  done: boolean;
}

export interface SharedLimiterOptions {
  readonly shared: SharedLimits;
  /** Known number of gateways that count together, including this one. */
  readonly gateways: () => number;
  readonly clock: LimitClock;
  readonly log: Logger;
  /** How long Redis may take to answer. After that, the request is counted locally. */
  readonly answerWithinMs?: number;
}

/**
 * Counts in Redis, for all gateways together. While Redis does not answer, each gateway counts against its own share of the quota, starting
 * with the last known debt of the key. What is used meanwhile is not reported to Redis later. So an outage gives a key at most one more
 * burst. A take whose answer comes too late may be counted twice.
 *
 * Redis may lose its data, or lie. So this gateway also counts what it admitted itself. Even if Redis allows more, it admits no more requests of
 * a key than the burst, the rate, and the requests of one more second. If there are more keys than `LocalLimits` can count, the least
 * recently used key is dropped and starts again.
 */
export class SharedLimiter implements CountingLimiter {
  readonly counters = { taken: 0, refused: 0, local: 0, outages: 0, overruled: 0 };
  readonly #options: SharedLimiterOptions;
  readonly #answerWithinMs: number;
  readonly #local = new LocalLimits();
  /** What this gateway admitted, whether it was counted locally or in Redis. */
  readonly #admitted = new LocalLimits();
  /** In the order of their times. */
  #pending: Pending[] = [];
  #stopTimer: (() => void) | null = null;
  #unavailable = false;
  #closed = false;
  #refusalLoggedAtUs = Number.NEGATIVE_INFINITY;

  constructor(options: SharedLimiterOptions) {
    this.#options = options;
    this.#answerWithinMs = options.answerWithinMs ?? defaultAnswerWithinMs;
  }

  get unavailable(): boolean {
    return this.#unavailable;
  }

  take(key: string, quota: Quota, cost: number): LimitDecision | Promise<LimitDecision> {
    if (this.#unavailable || this.#closed || this.#pending.length >= maxPending) return this.#takeLocally(key, quota, cost);
    const { clock, shared } = this.#options;
    const gcra = gcraOf(quota);
    return new Promise((resolve) => {
      const atUs = clock.nowUs();
      const settle = (decide: () => LimitDecision): void => {
        if (pending.done) return;
        pending.done = true;
        resolve(decide());
      };
      const locally = (): LimitDecision => this.#takeLocally(key, quota, cost);
      const pending: Pending = { atUs, giveUp: () => settle(locally), done: false };
      this.#wait(pending);
      shared.take(key, gcra, cost).then(
        (taken) => settle(() => this.#counted(key, quota, cost, taken)),
        (error: unknown) => {
          this.#failed(error);
          settle(locally);
        },
      );
    });
  }

  close(): void {
    this.#closed = true;
    this.#stopTimer?.();
    this.#giveUpAll();
    this.#options.shared.close();
  }

  #counted(key: string, quota: Quota, cost: number, taken: Taken): LimitDecision {
    const gcra = gcraOf(quota);
    if (!isPossible(taken, gcra)) {
      this.#failed(new Error('The answer is not a valid limit.'));
      return this.#takeLocally(key, quota, cost);
    }
    if (cost > 0) this.#local.atLeast(key, taken.debtUs, this.#options.clock.nowUs());
    return this.#report(decisionOf(taken, gcra, 'shared'), key, quota, cost);
  }

  #takeLocally(key: string, quota: Quota, cost: number): LimitDecision {
    const { perMinute, burst } = quota;
    const gateways = Math.max(1, this.#options.gateways());
    const share = gcraOf({ perMinute: perMinute / gateways, burst: burst / gateways });
    this.counters.local++;
    const taken = this.#local.take(key, share, cost, this.#options.clock.nowUs());
    return this.#report(decisionOf(taken, share, 'local'), key, quota, cost);
  }

  #report(decision: LimitDecision, key: string, quota: Quota, cost: number): LimitDecision {
    if (cost === 0) return decision;
    const final = decision.admitted ? this.#underCeiling(decision, key, quota, cost) : decision;
    this.counters[final.admitted ? 'taken' : 'refused']++;
    return final;
  }

  /** The decision, or a refusal if this gateway has admitted as much as is possible. */
  #underCeiling(decision: LimitDecision, key: string, { perMinute, burst }: Quota, cost: number): LimitDecision {
    const ceiling = gcraOf({ perMinute, burst: burst + 1 + (perMinute * ceilingSlackMs) / 60_000 });
    const own = this.#admitted.take(key, ceiling, Math.min(cost, Math.max(1, burst)), this.#options.clock.nowUs());
    if (own.admitted) return decision;
    this.counters.overruled++;
    return decisionOf(own, ceiling, decision.counted);
  }

  // --- Waiting.

  #wait(pending: Pending): void {
    this.#pending.push(pending);
    if (this.#pending.length === 1) this.#watch(this.#answerWithinMs);
    // Answers come in order, except from a cluster. Finished calls are at the front, and the timer removes them.
    else if (this.#pending.length >= maxPending) this.#pending = this.#pending.filter((one) => !one.done);
  }

  #watch(delayMs: number): void {
    this.#stopTimer = this.#options.clock.after(delayMs, () => {
      this.#stopTimer = null;
      this.#checkOldest();
    });
  }

  #checkOldest(): void {
    const first = this.#pending.findIndex((pending) => !pending.done);
    this.#pending = first === -1 ? [] : this.#pending.slice(first);
    const [oldest] = this.#pending;
    if (oldest === undefined) return;
    const waitedMs = (this.#options.clock.nowUs() - oldest.atUs) / 1000;
    if (waitedMs < this.#answerWithinMs) this.#watch(Math.ceil(this.#answerWithinMs - waitedMs));
    else this.#beginOutage(`no answer within ${this.#answerWithinMs} ms`);
  }

  #giveUpAll(): void {
    const pending = this.#pending;
    this.#pending = [];
    for (const { giveUp } of pending) giveUp();
  }

  // --- Outages.

  #failed(error: unknown): void {
    const refused = !(error instanceof RedisFault) || error.kind === 'refused';
    const reason = error instanceof Error ? error.message : String(error);
    if (!refused) {
      this.#beginOutage(reason);
      return;
    }
    // Redis answers, and other keys may work.
    const nowUs = this.#options.clock.nowUs();
    if (nowUs - this.#refusalLoggedAtUs < refusalLogEveryUs) return;
    this.#refusalLoggedAtUs = nowUs;
    this.#options.log.warn({ reason }, 'limit_refused_by_redis');
  }

  #beginOutage(reason: string): void {
    if (this.#unavailable || this.#closed) return;
    this.#unavailable = true;
    this.counters.outages++;
    this.#options.log.warn({ reason, gateways: this.#options.gateways() }, 'limits_counted_locally');
    this.#stopTimer?.();
    this.#giveUpAll();
    this.#probeLater();
  }

  #probeLater(): void {
    this.#stopTimer = this.#options.clock.after(probeEveryMs, () => {
      this.#stopTimer = null;
      this.#options.shared.probe().then(
        () => this.#endOutage(),
        () => {
          if (!this.#closed) this.#probeLater();
        },
      );
    });
  }

  #endOutage(): void {
    if (this.#closed) return;
    this.#unavailable = false;
    this.#options.log.info({}, 'limits_counted_together');
  }
}

/** The limiter of a gateway. `redisUrls`: null if there is only one gateway, which counts alone. Rejects with a `BusError` if Redis cannot be reached. */
export async function createLimiter({
  redisUrls,
  ...options
}: Omit<SharedLimiterOptions, 'shared' | 'clock'> & { readonly redisUrls: readonly string[] | null }): Promise<CountingLimiter> {
  if (redisUrls === null) return inProcessLimiter();
  return new SharedLimiter({ ...options, shared: await openRedisLimits(redisUrls, options.log), clock: processClock });
}

/** Whether a correct Redis could give this answer. */
function isPossible({ debtUs, waitUs }: Taken, { intervalUs, burst }: Gcra): boolean {
  return Number.isFinite(debtUs) && debtUs >= 0 && debtUs <= burst * intervalUs && Number.isFinite(waitUs) && waitUs >= 0;
}
