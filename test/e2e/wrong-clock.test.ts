import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openCrashWorld } from '../crash/crash-world.ts';
import { order } from '../crash/client.ts';
import { newWish } from '../crash/wishes.ts';
import { storeKinds } from '../contract/store-harness.ts';
import { startSimnet, type Simnet } from '../simnet/simnet.ts';
import { until } from '../support/gateway.ts';
import { sluice } from '../support/command-line.ts';
import { runProgram } from '../support/processes.ts';
import { startRedis, type TestRedis } from '../support/servers/redis.ts';

const timeoutMs = 300_000;
const dayMs = 86_400_000;
const shiftedClock = fileURLToPath(new URL('../support/shifted-clock.mjs', import.meta.url));

describe.each(storeKinds)('a gateway whose clock is days ahead, on a shared store in %s', (kind) => {
  it('places no order twice and deletes nothing', { timeout: timeoutMs }, async () => {
    const ahead = { NODE_OPTIONS: `--import=${shiftedClock}`, CLOCK_AHEAD_MS: String(500 * dayMs) };
    const world = await openCrashWorld(kind, { laneEnv: (lane) => (lane === 1 ? ahead : {}) });
    onTestFinished(() => world.close());
    const { store, db, apiKey, keyId, coins } = world;
    const wallet = await world.newWallet();
    const right = await world.gateway(0);
    const options = { side: 'buy', wallet, mint: coins[0]!.mint, slippage: 10 } as const;
    const wish = await newWish('lightning', options, { url: right.url, apiKey });
    const first = await order(wish, { apiKey, urls: () => [right.url] });
    if (first.kind !== 'order') throw new Error(JSON.stringify(first));
    const spent = await store.orders.spentLamports(wallet.publicKey, Date.now());
    expect(spent).toBeGreaterThan(0n);
    await until('the order to end', async () => (await store.orders.byId(first.orderId))?.state === 'finalized');
    await right.end();

    const wrong = await world.gateway(1);
    const claimed = async (): Promise<number> =>
      Number((await db.get('SELECT max(until_ms) AS until_ms FROM order_followers WHERE until_ms > ?', Date.now()))?.['until_ms'] ?? 0);
    const start = await until('the gateway to follow orders', claimed);
    await until('it to follow them twice more', async () => (await claimed()) > start + 5_000);
    const again = await order(wish, { apiKey, urls: () => [wrong.url] });
    expect(again).toMatchObject({ kind: 'order', orderId: first.orderId, signature: first.signature });
    expect(await store.orders.page({ owner: `key:${keyId}`, before: null, state: null, limit: 10 })).toHaveLength(1);
    expect(await store.orders.spentLamports(wallet.publicKey, Date.now())).toBe(spent);
    const names = new Set(wrong.log.map(({ msg }) => msg));
    expect(names).toContain('clock_disagrees');
  });
});

describe('the clocks of Redis and of a process', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-clock-'));
  let node: Simnet;
  let redis: TestRedis;
  const children: ChildProcess[] = [];
  beforeAll(async () => {
    [node, redis] = await Promise.all([startSimnet(), startRedis()]);
  });
  afterAll(async () => {
    for (const child of children) child.kill('SIGKILL');
    await Promise.all([node.close(), redis.stop()]);
    rmSync(folder, { recursive: true, force: true });
  });
  const settings = (aheadS: number): Readonly<Record<string, string>> => ({
    NODE_OPTIONS: `--import=${shiftedClock}`,
    CLOCK_AHEAD_MS: String(aheadS * 1000),
    REDIS_URL: redis.url,
    SOLANA_RPC_URL: node.rpcUrl,
    PORT: '0',
  });

  interface Clocks {
    readonly status: number;
    readonly clock: unknown;
    readonly aheadS: number | null;
    readonly log: readonly unknown[];
  }

  /** What the process reports at its own port. */
  const started = async (job: string, aheadS: number): Promise<() => Promise<Clocks>> => {
    const running = runProgram(job === 'gateway' ? 'cli/gateway.ts' : `${job}/src/main.ts`, {
      folder,
      env: { ...settings(aheadS), METRICS_PORT: '0' },
    });
    children.push(running.child);
    const url = `http://127.0.0.1:${String((await running.logged('operations_listening'))['port'])}`;
    const metric = new RegExp(`^sluice_${job}_clock_ahead_seconds\\{of="redis"\\} (\\S+)$`, 'm');
    return async () => {
      const answer = await fetch(`${url}/readyz`);
      const { parts } = (await answer.json()) as { readonly parts: Readonly<Record<string, unknown>> };
      const measured = metric.exec(await (await fetch(`${url}/metrics`)).text())?.[1];
      const lines = running.log.filter(({ msg }) => msg === 'clock_disagrees' || msg === 'clock_agrees');
      return { status: answer.status, clock: parts['clock'], aheadS: measured === undefined ? null : Number(measured), log: lines };
    };
  };

  it.each([
    ['ingest', 90, /^The clock of this machine is [89]\d s ahead of that of Redis\.$/],
    ['ingest', -90, /^The clock of this machine is [89]\d s behind that of Redis\.$/],
    ['gateway', 90, /^The clock of this machine is [89]\d s ahead of that of Redis\.$/],
  ])('disagree: %s by %d s, and is not ready, with a metric and a line in the log', { timeout: timeoutMs }, async (job, aheadS, text) => {
    const report = await started(job, aheadS);
    const reason = expect.stringMatching(text);
    const {
      status,
      clock,
      aheadS: measuredS,
      log,
    } = await until('the comparison', async () => {
      const now = await report();
      return now.aheadS !== null && now;
    });
    expect([status, clock]).toEqual([503, { ok: false, reason }]);
    expect(Math.abs(measuredS! - aheadS)).toBeLessThan(10);
    expect(log).toEqual([expect.objectContaining({ msg: 'clock_disagrees', reason })]);
  });

  it('agree, and ingest has nothing to report', { timeout: timeoutMs }, async () => {
    const report = await started('ingest', 0);
    const { clock, log } = await until('the comparison', async () => {
      const now = await report();
      return now.aheadS !== null && now;
    });
    expect([clock, log]).toEqual([{ ok: true, reason: null }, []]);
  });

  it('are compared by sluice doctor', async () => {
    const { stdout } = await sluice(['doctor'], { folder, env: settings(90) });
    expect(stdout).toMatch(/^warn +clock +The clock of this machine is \d+ s ahead of that of Redis\.$/m);
  });
});
