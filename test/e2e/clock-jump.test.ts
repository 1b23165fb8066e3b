import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { order, type FinalAnswer } from '../crash/client.ts';
import { openCrashWorld } from '../crash/crash-world.ts';
import { newWish } from '../crash/wishes.ts';
import { StreamClient } from '../support/clients/stream-client.ts';
import { until } from '../support/gateway.ts';
import { makeKey } from '../support/keys.ts';

const hourMs = 3_600_000;
const shiftedClock = fileURLToPath(new URL('../support/shifted-clock.mjs', import.meta.url));

it('a gateway whose clock is set back by an hour, and then ahead by a day, trades on', { timeout: 300_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-jump-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'ahead');
  const setAhead = (ms: number): void => {
    writeFileSync(`${file}.new`, String(ms));
    renameSync(`${file}.new`, file);
  };
  const world = await openCrashWorld('SQLite', { laneEnv: () => ({ NODE_OPTIONS: `--import=${shiftedClock}`, CLOCK_AHEAD_FILE: file }) });
  onTestFinished(() => world.close());
  const { store, apiKey, coins } = world;
  const { key: endingKey } = await makeKey(store, { expiresAtMs: Date.now() + hourMs });
  const wallet = await world.newWallet();
  const { url } = await world.gateway(0);
  const buy = async (): Promise<FinalAnswer> => {
    const wish = await newWish('lightning', { side: 'buy', wallet, mint: coins[0]!.mint, slippage: 10 }, { url, apiKey });
    return order(wish, { apiKey, urls: () => [url] });
  };
  const faults = async (): Promise<readonly string[]> => {
    interface Readiness {
      readonly parts: Readonly<Record<string, { readonly ok: boolean }>>;
    }
    const body = (await (await fetch(`${url}/readyz`)).json()) as Readiness | { readonly error: { readonly details: Readiness } };
    const { parts } = 'error' in body ? body.error.details : body;
    return Object.keys(parts).filter((part) => !parts[part]!.ok);
  };
  const statusOf = async (key: string): Promise<number> =>
    (await fetch(`${url}/usage`, { headers: { authorization: `Bearer ${key}` } })).status;
  const client = await new StreamClient(`${url.replace('http', 'ws')}/api/data?api-key=${endingKey}`).open();
  expect(await buy()).toMatchObject({ kind: 'order' });
  const before = await faults();

  for (const aheadMs of [-hourMs, 24 * hourMs]) {
    setAhead(aheadMs);
    // No node is blamed, and the next order is placed and lands.
    await until('the jump to be noticed', async () => (await faults()).includes('clock'));
    expect((await faults()).filter((part) => part !== 'clock')).toEqual(before);
    const placed = await buy();
    if (placed.kind !== 'order') throw new Error(JSON.stringify(placed));
    await until('the order to end', async () => (await store.orders.byId(placed.orderId))?.state === 'finalized');
    // The plan admits 20 commands a second, and the stream and its key outlive the jump.
    for (let count = 0; count < 10; count++) expect(await client.ask({ op: 'ping' })).toMatchObject({ op: 'pong' });
    expect(await statusOf(endingKey)).toBe(200);
    setAhead(0);
    await until('the clock to agree', async () => !(await faults()).includes('clock'));
    expect(await statusOf(endingKey)).toBe(200);
  }
  expect(client.closed).toBeNull();
});
