import { setTimeout as delay } from 'node:timers/promises';
import { RecordSeal } from '@sluice/gateway/auth/record-seal.ts';
import { createTickets } from '@sluice/gateway/auth/tickets.ts';
import { createLimiter, SharedLimiter } from '@sluice/gateway/ratelimit/shared-limiter.ts';
import { inProcessLimiter, LocalLimits } from '@sluice/gateway/ratelimit/local-limits.ts';
import { gcraOf } from '@sluice/gateway/ratelimit/gcra.ts';
import { processClock, type CountingLimiter, type LimitClock, type LimitDecision, type Quota } from '@sluice/gateway/ratelimit/limiter.ts';
import { openRedisLimits } from '@sluice/gateway/ratelimit/redis-limits.ts';
import { systemClock } from '@sluice/shared/runtime/clock/clock.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../support/gateway.ts';
import { startRedis, type TestRedis } from '../support/servers/redis.ts';
import { formCluster } from '../support/servers/redis-cluster.ts';

const log = createLog({ level: 'silent', name: 'test' });
let redis: TestRedis;
const limiters: CountingLimiter[] = [];
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(async () => {
  for (const limiter of limiters) limiter.close();
  await redis.stop();
});

/** Waits for Redis as long as a machine that runs other tests may take. */
const answerWithinMs = 10_000;

async function connectTo(url: string, gateways: number, clock: LimitClock = processClock): Promise<CountingLimiter> {
  const limiter = new SharedLimiter({ shared: await openRedisLimits([url], log), gateways: () => gateways, clock, log, answerWithinMs });
  limiters.push(limiter);
  return limiter;
}

const connect = (gateways = 1): Promise<CountingLimiter> => connectTo(redis.url, gateways);

let keys = 0;
/** A key that no other test uses. */
const fresh = (): string => `key:${++keys}`;

describe.each(['in the process', 'in Redis'])('a limit %s', (where) => {
  let limiter: CountingLimiter;
  beforeAll(async () => {
    limiter = where === 'in Redis' ? await connect() : inProcessLimiter();
  });

  it('admits the burst at once, counts down, and then reports when to try again', async () => {
    const key = fresh();
    const quota: Quota = { perMinute: 60, burst: 5 };
    const take = async (cost = 1): Promise<LimitDecision> => limiter.take(key, quota, cost);
    for (let left = 4; left >= 0; left--) {
      expect(await take()).toMatchObject({ admitted: true, remaining: left, retryAfterMs: 0, counted: 'shared' });
    }
    const refused = await take();
    expect(refused).toMatchObject({ admitted: false, remaining: 0, counted: 'shared' });
    expect(refused.retryAfterMs).toBeGreaterThan(500);
    expect(refused.retryAfterMs).toBeLessThanOrEqual(1_000);
    expect(refused.resetMs).toBeGreaterThan(4_000);
    expect(refused.resetMs).toBeLessThanOrEqual(5_000);
  });

  it('reads the state without counting, also for a key that was never used', async () => {
    const key = fresh();
    const quota: Quota = { perMinute: 60, burst: 3 };
    expect(await limiter.take(key, quota, 0)).toEqual({ admitted: true, remaining: 3, resetMs: 0, retryAfterMs: 0, counted: 'shared' });
    await limiter.take(key, quota, 2);
    for (let look = 0; look < 5; look++) expect(await limiter.take(key, quota, 0)).toMatchObject({ admitted: true, remaining: 1 });
    expect((await limiter.take(key, quota, 2)).admitted).toBe(false);
    expect((await limiter.take(key, quota, 1)).admitted).toBe(true);
  });

  it('admits a caller that waits as reported, again and again', async () => {
    const key = fresh();
    const quota: Quota = { perMinute: 6_000, burst: 2 };
    for (let round = 0; round < 20; round++) {
      const decision = await limiter.take(key, quota, 1);
      if (decision.admitted) continue;
      const readyAtMs = performance.now() + decision.retryAfterMs;
      // Timers are early by up to a millisecond.
      while (performance.now() < readyAtMs) await delay(1);
      expect((await limiter.take(key, quota, 1)).admitted).toBe(true);
    }
  });

  it('counts keys separately, and retains what was counted when the quota changes', async () => {
    const [one, other] = [fresh(), fresh()];
    await limiter.take(one, { perMinute: 60, burst: 1 }, 1);
    expect((await limiter.take(one, { perMinute: 60, burst: 1 }, 1)).admitted).toBe(false);
    expect((await limiter.take(other, { perMinute: 60, burst: 1 }, 1)).admitted).toBe(true);
    // A larger plan has room at once; a smaller one is full, but not more than full.
    expect((await limiter.take(one, { perMinute: 60, burst: 10 }, 1)).admitted).toBe(true);
    expect((await limiter.take(one, { perMinute: 600, burst: 1 }, 1)).retryAfterMs).toBeLessThanOrEqual(100);
  });

  it('counts a cost beyond the burst as the whole burst', async () => {
    const key = fresh();
    expect(await limiter.take(key, { perMinute: 60, burst: 3 }, 50)).toMatchObject({ admitted: true, remaining: 0 });
  });
});

/** A gateway whose clock is wrong by `offsetMs` and runs `rate` times as fast. */
function wrongClock(offsetMs: number, rate: number): LimitClock {
  return {
    nowUs: () => Math.floor((processClock.nowUs() + offsetMs * 1000) * rate),
    after: (delayMs, call) => processClock.after(delayMs, call),
  };
}

describe('four gateways on one Redis', () => {
  it('admit together what one would, at most burst + rate × time and at least 99 % of it, at any clocks', async () => {
    const clocks = [wrongClock(0, 1), wrongClock(3_600_000, 1), wrongClock(86_400_000, 1.1), wrongClock(-1_000, 0.9)];
    const gateways = await Promise.all(clocks.map((clock) => connectTo(redis.url, 4, clock)));
    const quota: Quota = { perMinute: 60_000, burst: 200 };
    const key = fresh();
    const counted = new Set<string>();
    // One gateway that counts alone and receives the same requests, pauses of the machine included.
    const alone = new LocalLimits();
    let [admitted, admittedAlone, requests] = [0, 0, 0];
    const beganMs = performance.now();
    const endMs = beganMs + 2_500;
    const hammer = async (limiter: CountingLimiter): Promise<void> => {
      while (performance.now() < endMs) {
        const decision = await limiter.take(key, quota, 1);
        requests++;
        if (alone.take(key, gcraOf(quota), 1, processClock.nowUs()).admitted) admittedAlone++;
        counted.add(decision.counted);
        if (decision.admitted) admitted++;
        else await delay(1);
      }
    };
    const loops = gateways.flatMap((limiter) => Array.from({ length: 4 }, () => hammer(limiter)));
    await Promise.all(loops);
    const endedMs = performance.now();
    expect([...counted]).toEqual(['shared']);
    expect(requests).toBeGreaterThan(admitted);
    expect(admitted).toBeLessThanOrEqual(quota.burst + (quota.perMinute / 60_000) * (endedMs - beganMs));
    // Redis may have decided each loop's request before a pause, and the reference after it.
    expect(admitted).toBeGreaterThanOrEqual(0.99 * admittedAlone - loops.length);
  });

  it('leave nothing in Redis for unused keys', async () => {
    const limiter = await connect();
    // The first bucket is full again after five minutes, the second after 50 ms.
    const [slow, fast] = [fresh(), fresh()];
    await limiter.take(slow, { perMinute: 1, burst: 5 }, 5);
    await limiter.take(fast, { perMinute: 60_000, burst: 50 }, 50);
    expect(await redis.command('EXISTS', `sluice:limit:${slow}`)).toContain('1');
    await until('the key to end', async () => (await redis.command('EXISTS', `sluice:limit:${fast}`)).includes('0'));
  });

  it('make a key wait no longer than its burst lasts after the clock of Redis was set back', async () => {
    const limiter = await connect();
    const key = fresh();
    // As of a clock that was an hour ahead.
    const drainedAtUs = (Date.now() + 3_600_000) * 1000;
    await redis.command('SET', `sluice:limit:${key}`, String(drainedAtUs), 'PX', '3600000');
    const quota: Quota = { perMinute: 6_000, burst: 5 };
    expect(await limiter.take(key, quota, 1)).toMatchObject({ admitted: false, retryAfterMs: 10, resetMs: 50, counted: 'shared' });
    await until('the request to be admitted', async () => (await limiter.take(key, quota, 1)).admitted);
  });

  it('continue when Redis has lost the script', async () => {
    const limiter = await connect();
    const key = fresh();
    await limiter.take(key, { perMinute: 60, burst: 5 }, 1);
    await redis.command('SCRIPT', 'FLUSH');
    expect(await limiter.take(key, { perMinute: 60, burst: 5 }, 1)).toMatchObject({ counted: 'shared', remaining: 3 });
  });

  it('count one key locally that Redis refuses to count, and no other', async () => {
    const limiter = await connect(4);
    const key = fresh();
    await redis.command('HSET', `sluice:limit:${key}`, 'not', 'a number');
    expect(await limiter.take(key, { perMinute: 60, burst: 8 }, 1)).toMatchObject({ counted: 'local', remaining: 1 });
    expect(await limiter.take(fresh(), { perMinute: 60, burst: 8 }, 1)).toMatchObject({ counted: 'shared', remaining: 7 });
    expect(limiter.unavailable).toBe(false);
  });
});

describe('a cluster of Redis', () => {
  it('counts keys on the node that has them, and stores tickets', async () => {
    const nodes = await Promise.all([1, 2, 3].map(() => startRedis({ cluster: true })));
    try {
      await formCluster(nodes);
      const redisUrls = nodes.map(({ url }) => url);
      const open = () => createLimiter({ redisUrls, log, gateways: () => 2, answerWithinMs });
      const [one, other] = [await open(), await open()];
      limiters.push(one, other);
      for (let i = 0; i < 20; i++) {
        const key = fresh();
        expect(await one.take(key, { perMinute: 60, burst: 2 }, 1)).toMatchObject({ admitted: true, counted: 'shared' });
        expect(await other.take(key, { perMinute: 60, burst: 2 }, 1)).toMatchObject({ admitted: true, remaining: 0, counted: 'shared' });
      }
      const tickets = await createTickets(redisUrls, new RecordSeal(new Uint8Array(32), systemClock), log);
      for (let i = 0; i < 10; i++) {
        const ticket = await tickets.issue({ credential: `key.${i}`, address: null });
        if (ticket === null) throw new Error('no ticket');
        expect(await tickets.take(ticket)).toEqual({ credential: `key.${i}`, address: null });
        expect(await tickets.take(ticket)).toBeNull();
      }
      tickets.close();
    } finally {
      await Promise.all(nodes.map((node) => node.stop()));
    }
  });
});

describe('an outage of Redis', () => {
  let own: TestRedis;
  beforeAll(async () => {
    own = await startRedis();
  });
  afterAll(() => own.stop());
  const quota: Quota = { perMinute: 60, burst: 40 };
  const drain = async (limiter: CountingLimiter, key: string): Promise<number> => {
    for (let admitted = 0; ; admitted++) if (!(await limiter.take(key, quota, 1)).admitted) return admitted;
  };
  const sharedAgain = (limiter: CountingLimiter): Promise<unknown> =>
    until('counting together', async () => (await limiter.take(fresh(), quota, 0)).counted === 'shared');

  it('leaves each gateway its share, and ends with shared counting', async () => {
    const gateways = await Promise.all([1, 2, 3, 4].map(() => connectTo(own.url, 4)));
    const key = fresh();
    for (const limiter of gateways) expect(await limiter.take(key, quota, 1)).toMatchObject({ admitted: true, counted: 'shared' });
    await own.kill();
    const admitted: number[] = [];
    for (const limiter of gateways) admitted.push(await drain(limiter, key));
    for (const limiter of gateways) expect(limiter.unavailable).toBe(true);
    // A share is 10; what was used before the outage counts in it.
    for (const count of admitted) {
      expect(count).toBeGreaterThanOrEqual(8);
      expect(count).toBeLessThanOrEqual(10);
    }
    expect(await gateways[0]!.take(key, quota, 1)).toMatchObject({ admitted: false, counted: 'local' });
    await own.restart();
    for (const limiter of gateways) await sharedAgain(limiter);
    for (const limiter of gateways) expect(limiter).toMatchObject({ unavailable: false, counters: { outages: 1 } });
    const afterwards = fresh();
    let together = 0;
    for (const limiter of gateways) together += await drain(limiter, afterwards);
    expect(together).toBeGreaterThanOrEqual(40);
    expect(together).toBeLessThanOrEqual(42);
  });

  it('is noticed in time if Redis holds the connection and does not answer', async () => {
    const limiter = await createLimiter({ redisUrls: [own.url], log, gateways: () => 4 });
    limiters.push(limiter);
    const key = fresh();
    await limiter.take(key, quota, 1);
    own.pause();
    try {
      const beganMs = performance.now();
      const decisions = await Promise.all(Array.from({ length: 50 }, async () => limiter.take(key, quota, 1)));
      expect(performance.now() - beganMs).toBeLessThan(10_000);
      expect(new Set(decisions.map(({ counted }) => counted))).toEqual(new Set(['local']));
      expect(decisions.filter(({ admitted }) => admitted).length).toBeLessThanOrEqual(10);
      // From then on no request waits for it.
      expect(limiter.take(key, quota, 1)).not.toBeInstanceOf(Promise);
    } finally {
      own.resume();
    }
    await sharedAgain(limiter);
  });

  it('stops the start if it is there from the beginning', async () => {
    const gone = await startRedis();
    await gone.stop();
    await expect(createLimiter({ redisUrls: [gone.url], log, gateways: () => 1 })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });
});
