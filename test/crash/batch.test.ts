import { expect, it, onTestFinished } from 'vitest';
import { ownerOf } from '@sluice/gateway/store/order-model/order.ts';
import { until } from '../support/gateway.ts';
import { openCrashWorld } from './crash-world.ts';
import { settled } from './truth.ts';

const orders = 6;
/** The gateway dies when this many orders of the batch have been sent: before any, in the middle, and after all. */
const killsAfter = [0, 1, 3, 5, orders] as const;
const withinMs = 120_000;

interface Result {
  readonly orderId?: string;
  readonly signature?: string;
}

it('a batch whose gateway is killed between its orders: each order exactly once, in the end', { timeout: 600_000 }, async () => {
  const world = await openCrashWorld('SQLite');
  onTestFinished(() => world.close());
  const [coin] = world.coins;
  for (const [round, after] of killsAfter.entries()) {
    const { publicKey } = await world.newWallet();
    // Of one wallet, so that one order follows the other.
    const body = {
      orders: Array.from({ length: orders }, (_, at) => ({
        side: 'buy',
        publicKey,
        mint: coin!.mint,
        amount: 0.01 + at / 1e4,
        slippage: 45,
      })),
    };
    const key = `batch-${round}`;
    const ask = async (url: string): Promise<readonly Result[]> => {
      const headers = { authorization: `Bearer ${world.apiKey}`, 'content-type': 'application/json', 'idempotency-key': key };
      const answer = await fetch(`${url}/trade/batch`, { method: 'POST', headers, body: JSON.stringify(body) }).catch(() => null);
      const read = (await answer?.json().catch(() => null)) as { readonly results?: readonly Result[] } | null | undefined;
      return read?.results ?? [];
    };
    const sent = (): ReadonlySet<string> => new Set(world.gate.sent.flatMap((one) => (one.wallet === publicKey ? [one.signature] : [])));
    const gateway = await world.gateway(0);
    await gateway.signerReady();
    const interrupted = ask(gateway.url);
    await until(`${after} orders to be sent`, () => sent().size >= after, withinMs);
    await gateway.kill('both');
    await interrupted;
    const before = sent();
    const results = await until(
      'all orders to be placed',
      async () => {
        const all = await ask((await world.gateway(0)).url);
        return all.length === orders && all.every(({ orderId }) => orderId !== undefined) && all;
      },
      withinMs,
    );
    const signatures = new Set(results.map(({ signature }) => signature));
    expect(signatures.size).toBe(orders);
    // What was sent before the crash is part of the answer, and is not sent under another message.
    for (const signature of [...before, ...sent()]) expect(signatures).toContain(signature);
    const again = await until('the answer', async () => {
      const all = await ask((await world.gateway(0)).url);
      return all.length === orders && all;
    });
    expect(again.map(({ orderId }) => orderId)).toEqual(results.map(({ orderId }) => orderId));
    const stored = await world.store.orders.page({
      owner: ownerOf({ keyId: world.keyId, accountId: null }),
      before: null,
      state: null,
      limit: 500,
    });
    expect(stored.filter(({ terms }) => terms?.publicKey === publicKey).length).toBe(orders);
  }
  await settled(world);
  const all = await world.store.orders.page({ owner: `key:${world.keyId}`, before: null, state: null, limit: 500 });
  expect(all.length).toBe(orders * killsAfter.length);
  for (const { state, signature } of all) {
    const landed = world.chain.transaction(signature ?? '');
    expect(state).toBe(landed === null ? 'expired' : landed.err === null ? 'finalized' : 'failed');
  }
});
