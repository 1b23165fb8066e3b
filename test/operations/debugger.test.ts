import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { until } from '../support/gateway.ts';
import { runProgram } from '../support/processes.ts';
import { startRedis } from '../support/servers/redis.ts';

it('no signal opens the debugger of start, gateway or ingest', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-debugger-'));
  const redis = await startRedis();
  onTestFinished(async () => {
    await redis.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const env = { REDIS_URL: redis.url, SOLANA_RPC_URL: 'http://127.0.0.1:1', TRADING: 'off', PORT: '0' };
  const started = [
    { program: 'cli/start.ts', env: { PORT: '0', DATA_DIR: 'start', LOG_LEVEL: 'info' } },
    { program: 'cli/gateway.ts', env: { ...env, DATA_DIR: 'gateway' } },
    { program: 'ingest/src/main.ts', env: { ...env, DATA_DIR: 'ingest' } },
  ].map(({ program, env: settings }) => runProgram(program, { folder, env: settings }));
  await Promise.all(
    started.map(async (running) => {
      await until('a first line of the log', () => running.log.length > 0, 40_000);
      running.child.kill('SIGUSR1');
      // Node opens it from a separate thread, and reports that.
      await delay(300);
      await running.stop();
      expect(running.log.filter(({ msg }) => /debugger/i.test(msg))).toEqual([]);
    }),
  );
});
