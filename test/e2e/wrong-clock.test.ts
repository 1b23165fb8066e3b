import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openCrashWorld } from '../crash/crash-world.ts';
import { order } from '../crash/client.ts';
import { newWish } from '../crash/wishes.ts';
import { storeKinds } from '../contract/store-harness.ts';
import { until } from '../support/gateway.ts';

const timeoutMs = 300_000;
const dayMs = 86_400_000;
const shiftedClock = fileURLToPath(new URL('../support/shifted-clock.mjs', import.meta.url));

describe.each(storeKinds)('a gateway whose clock is days ahead, on a shared store in %s', (kind) => {
  it('places no order twice and deletes nothing', { timeout: timeoutMs }, async () => {
    const ahead = { NODE_OPTIONS: `--import=${shiftedClock}`, CLOCK_AHEAD_MS: String(500 * dayMs) };
    const world = await openCrashWorld(kind, (lane) => (lane === 1 ? ahead : {}));
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
    expect(names).toContain(kind === 'SQLite' ? 'clock_far_from_last_use' : 'clock_disagrees');
  });
});
