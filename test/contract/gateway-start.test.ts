import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { startGateway } from '../../cli/gateway/gateway.ts';
import { openStore } from '@sluice/gateway/store/store.ts';
import { BusError } from '@sluice/shared/bus/bus-error.ts';
import { connectRedisBus } from '@sluice/shared/bus/redis/redis-bus.ts';
import { testConfig } from '../support/test-config.ts';
import { startRedis } from '../support/servers/redis.ts';
import { silentLog } from './bus-harness.ts';
import { startProxy } from './bus-proxy.ts';

/** A cut lasts 50 ms, so at most three attempts to connect again fail: after pauses of at most 50, 100 and 200 ms. */
const reconnectsWithinMs = 400;
const maxSteps = 200;
const cutForMs = 50;

it('a gateway that loses Redis at any step of its start closes all its connections', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-start-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  let messagesBeforeCut = Number.POSITIVE_INFINITY;
  let cutUntilMs = 0;
  const proxy = await startProxy(redis.port, async () => {
    messagesBeforeCut--;
    if (messagesBeforeCut === -1) cutUntilMs = performance.now() + cutForMs;
    if (performance.now() < cutUntilMs) proxy.cut();
  });
  onTestFinished(() => proxy.close());
  const config = { ...testConfig, redisUrls: [proxy.url], dataDir: folder };
  let failures = 0;
  let wasCut = true;
  for (let steps = 0; wasCut && steps < maxSteps; steps++) {
    const store = await openStore(config);
    const bus = await connectRedisBus([proxy.url], silentLog);
    messagesBeforeCut = steps;
    const { signal } = new AbortController();
    const gateway = await startGateway({ config, bus, log: silentLog, signal, store }).catch((error: unknown) => {
      if (!(error instanceof BusError)) throw error;
      failures++;
      return null;
    });
    wasCut = messagesBeforeCut < 0;
    messagesBeforeCut = Number.POSITIVE_INFINITY;
    cutUntilMs = 0;
    await gateway?.close();
    await bus.close();
    await store.close();
  }
  expect([failures > 3, wasCut]).toEqual([true, false]);
  await delay(reconnectsWithinMs);
  expect(proxy.connections).toBe(0);
});
