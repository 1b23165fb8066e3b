import { firstSend, unansweredInsert } from '../../trading/src/place/first-send.ts';
import type { FirstRound } from '../../trading/src/send/lanes.ts';
import type { StoredOrder } from '@sluice/gateway/store/order-model/order.ts';
import { StoreUnavailableError } from '@sluice/gateway/store/store-unavailable.ts';
import { expect, test } from 'vitest';
import { newOrder } from '../support/orders.ts';

const wire = Uint8Array.of(1);
const order: StoredOrder = { ...newOrder(0, { state: 'submitted' }), updatedAtMs: 0, version: 1 };

function sending(kind: FirstRound['kind'] | 'no answer', apply: () => Promise<StoredOrder>, startedMs = performance.now()) {
  const steps: string[] = [];
  const parts: Parameters<typeof firstSend>[3] = {
    log: { error: () => steps.push('logged') },
    follower: { follow: () => steps.push('followed') > 0 },
    sendFirst: async (signature) => {
      steps.push(`sent ${signature}`);
      return kind === 'no answer' ? await new Promise<never>(() => undefined) : { kind, by: null };
    },
    ledger: { apply },
  };
  return { steps, sent: firstSend(order, wire, startedMs, parts) };
}

test.each([
  ['the store becomes unavailable', new StoreUnavailableError('gone')],
  ['something else goes wrong', new TypeError('a bug')],
])('%s after the message was sent: the order is still on its way, and followed', async (_what, error) => {
  const { steps, sent } = sending('unanswered', () => Promise.reject(error));
  expect((await sent).state).toBe('submitted');
  expect(steps).toEqual([`sent ${order.signature}`, 'followed', 'logged']);
});

test('an order that no endpoint answered is unknown; an order that some endpoint accepted is as it was stored', async () => {
  const unknown: StoredOrder = { ...order, state: 'unknown' };
  expect(await sending('unanswered', async () => unknown).sent).toBe(unknown);
  expect(await sending('accepted', () => Promise.reject(new Error('not asked'))).sent).toBe(order);
});

test('a request does not wait for slow nodes beyond a second: the order is sent and followed', async () => {
  const { steps, sent } = sending('no answer', () => Promise.reject(new Error('not asked')), performance.now() - 940);
  expect(await sent).toBe(order);
  expect(steps).toEqual([`sent ${order.signature}`, 'followed']);
});

test('if an insert was not answered, the order may exist: it is named', () => {
  const failure = unansweredInsert(new StoreUnavailableError('gone'), order);
  expect(failure).toMatchObject({ error: 'UPSTREAM_UNAVAILABLE', details: { orderId: order.id, signature: order.signature } });
  expect(() => unansweredInsert(new TypeError('a bug'), order)).toThrow('a bug');
});
