import { openStore } from '@sluice/gateway/store/store.ts';
import type { OrderChange } from '@sluice/gateway/store/order-model/order.ts';
import type { OpenOrder } from '@sluice/gateway/store/order-model/order.ts';
import { newOrder, orderFill } from '../support/orders.ts';

/**
 * A gateway that is killed at any moment. It stores orders and advances them, many at once, and prints each change that the store
 * confirmed, one on each line: `<id> <version> <key>`.
 */
const [dataDir = '', databaseUrl = '', round = ''] = process.argv.slice(2);
const lanes = 4;
const nowMs = 1_800_000_000_000;
const course: readonly OrderChange[] = [
  { state: 'unknown' },
  { state: 'submitted' },
  { state: 'processed', fill: orderFill },
  { state: 'failed', error: { code: 'SLIPPAGE_EXCEEDED', message: 'It moved.', detailsJson: '{}' } },
];

const store = await openStore({ dataDir, databaseUrl: databaseUrl === '' ? null : databaseUrl });
const print = (line: string): Promise<void> => new Promise((resolve) => void process.stdout.write(`${line}\n`, () => resolve()));

async function lane(number: number): Promise<never> {
  for (let i = 0; ; i++) {
    const key = `${round}-${number}-${i}`;
    const outcome = await store.orders.insert(newOrder(nowMs), {
      idempotency: { endpoint: 'tradeBuy', key, fingerprint: new Uint8Array(32) },
      spend: { wallet: 'wallet', lamports: 1n, dayLimitLamports: null },
      followedBy: round,
    });
    if (outcome.kind !== 'stored') throw new Error(outcome.kind);
    await print(`${outcome.order.id} 1 ${key}`);
    let order: OpenOrder = outcome.order;
    for (const change of course.slice(0, i % (course.length + 1))) {
      const [moved] = await store.orders.advanceAll([{ order, change, atMs: nowMs }]);
      if (moved?.kind !== 'advanced') throw new Error(moved?.kind);
      order = moved.order;
      await print(`${outcome.order.id} ${moved.order.version} ${key}`);
    }
  }
}

await Promise.all(Array.from({ length: lanes }, (_, number) => lane(number)));
