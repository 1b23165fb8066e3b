import { fileURLToPath } from 'node:url';
import { createLimiter } from '@sluice/gateway/ratelimit/shared-limiter.ts';
import { inProcessLimiter } from '@sluice/gateway/ratelimit/local-limits.ts';
import type { CountingLimiter, Quota } from '@sluice/gateway/ratelimit/limiter.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { startRedis } from '../../support/servers/redis.ts';
import type { BenchRow } from '../row.ts';

const keys = Array.from({ length: 1_000 }, (_, index) => `key:${index}`);
const quota: Quota = { perMinute: 600_000, burst: 10_000 };
const targetNs = 2_000;
const targetP99Ms = 3;
const perSecond = 5_000;
const warmupMs = 2_000;
const measuredMs = 10_000;

export async function run(): Promise<BenchRow[]> {
  const ns = inProcess();
  const redis = await startRedis();
  const limiter = await createLimiter({ redisUrls: [redis.url], log: createLog({ level: 'error', name: 'bench' }), gateways: () => 1 });
  try {
    await paced(limiter, warmupMs);
    const { p50Ms, p99Ms, taken } = await paced(limiter, measuredMs);
    const { local } = limiter.counters;
    return [
      {
        name: 'Rate limit in the process',
        figure: `${Math.round(ns)} ns for each request`,
        target: `≤ ${targetNs} ns`,
        pass: ns <= targetNs,
        note: `${keys.length.toLocaleString('en-US')} keys in turn, mean over 2,000,000 requests`,
      },
      {
        name: `Rate limit in Redis at ${perSecond.toLocaleString('en-US')} requests/s`,
        figure: `p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms`,
        target: `p99 ≤ ${targetP99Ms} ms, all counted in Redis`,
        pass: p99Ms <= targetP99Ms && local === 0,
        note: `${taken.toLocaleString('en-US')} requests in ${measuredMs / 1000} s, Redis on the same machine; ${local} counted locally`,
      },
    ];
  } finally {
    limiter.close();
    await redis.stop();
  }
}

function inProcess(): number {
  const limiter = inProcessLimiter();
  const count = 2_000_000;
  for (let i = 0; i < 200_000; i++) void limiter.take(keys[i % keys.length]!, quota, 1);
  const beganMs = performance.now();
  for (let i = 0; i < count; i++) void limiter.take(keys[i % keys.length]!, quota, 1);
  return ((performance.now() - beganMs) * 1e6) / count;
}

/**
 * Requests at an even rate for `durationMs`. Latency counts from the time at which a request was due, so a delay counts against the result.
 */
async function paced(limiter: CountingLimiter, durationMs: number): Promise<{ p50Ms: number; p99Ms: number; taken: number }> {
  const tookMs: number[] = [];
  const answers: Promise<void>[] = [];
  const beganMs = performance.now();
  const count = (perSecond * durationMs) / 1000;
  for (let made = 0; made < count;) {
    const due = Math.min(count, Math.floor(((performance.now() - beganMs) * perSecond) / 1000));
    for (; made < due; made++) answers.push(timed(limiter, made, beganMs + ((made + 1) * 1000) / perSecond, tookMs));
    await new Promise((resolve) => setImmediate(resolve));
  }
  await Promise.all(answers);
  tookMs.sort((a, b) => a - b);
  return { p50Ms: tookMs[Math.floor(count * 0.5)]!, p99Ms: tookMs[Math.floor(count * 0.99)]!, taken: count };
}

async function timed(limiter: CountingLimiter, index: number, dueMs: number, tookMs: number[]): Promise<void> {
  await limiter.take(keys[index % keys.length]!, quota, 1);
  tookMs.push(performance.now() - dueMs);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.table(await run());
