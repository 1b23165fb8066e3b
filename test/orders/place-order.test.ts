import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fingerprintOf } from '@sluice/gateway/orders/api/idempotency.ts';
import type { Outcome } from '@sluice/gateway/orders/place/outcome.ts';
import type { PlaceOrder } from '@sluice/gateway/orders/place/place-order.ts';
import type { TradeRequest } from '@sluice/gateway/orders/prepare/request.ts';
import type { TradeAnswer } from '@sluice/shared/wire/rest/trade.ts';
import { until } from '../support/gateway.ts';
import { launchCoin } from '../support/chain/quoted-trades.ts';
import { startTradingWorld, type TradingWorld } from '../support/chain/trading-world.ts';

const operator = { keyId: 'key_operator', accountId: null };
let world: TradingWorld;
let placeOrder: PlaceOrder;
let publicKey: string;
let mint: string;

function buy(changes: Partial<TradeRequest> = {}): TradeRequest {
  return {
    order: { side: 'buy', mint, amount: { kind: 'coins', of: 'sol', text: '0.01' }, slippageBps: 500n, pool: 'auto' },
    publicKey,
    priorityFeeLamports: 10_000n,
    maxIn: null,
    minOut: null,
    dryRun: false,
    skipSimulation: false,
    ...changes,
  };
}

const keyOf = (key: string, body: unknown) => ({ key, fingerprint: fingerprintOf(body) });

function answerOf(outcome: Outcome): TradeAnswer {
  if ('error' in outcome) throw new Error(JSON.stringify(outcome));
  return outcome.answer;
}

beforeAll(async () => {
  world = await startTradingWorld();
  publicKey = await world.wallet();
  ({ mint } = launchCoin(world.chain));
  ({ placeOrder } = await world.trading());
  await until('orders to be accepted', async () => !('error' in (await placeOrder(operator, buy({ dryRun: true }), null))), 60_000);
}, 90_000);
afterAll(() => world.close());

describe('placeOrder', () => {
  it('sends one transaction for one Idempotency-Key, without an HTTP request', async () => {
    const use = keyOf('first', { amount: 1 });
    const outcome = await placeOrder(operator, buy(), use);
    expect(outcome).toMatchObject({ isReplay: false, answer: { status: 'submitted', side: 'buy', mint, publicKey } });
    const { orderId, signature } = answerOf(outcome);
    await until('the transaction to land', () => world.landed(publicKey).includes(signature!));
    const replay = await placeOrder(operator, buy(), use);
    expect(replay).toMatchObject({ isReplay: true, answer: { orderId, signature } });
    expect(await placeOrder(operator, buy(), keyOf('first', { amount: 2 }))).toEqual({ error: 'IDEMPOTENCY_MISMATCH' });
    expect([...world.sent()]).toEqual([signature]);
  });

  it('creates no order in a dry run', async () => {
    const sent = world.sent().size;
    const outcome = await placeOrder(operator, buy({ dryRun: true }), keyOf('dry', {}));
    expect(answerOf(outcome)).toMatchObject({ orderId: null, status: 'simulated', dryRun: true });
    expect(world.sent().size).toBe(sent);
  });

  it('uses the only wallet of the account if the request names none', async () => {
    const request = { publicKey: null, dryRun: true, of: (wallet: string) => buy({ publicKey: wallet, dryRun: true }) };
    expect(answerOf(await placeOrder(operator, request, null))).toMatchObject({ publicKey });
    const stranger = { keyId: 'key_stranger', accountId: 'stranger' };
    expect(await placeOrder(stranger, request, null)).toMatchObject({ error: 'INVALID_REQUEST' });
  });

  it('refuses a wallet of another account', async () => {
    const stranger = { keyId: 'key_stranger', accountId: 'stranger' };
    expect(await placeOrder(stranger, buy(), null)).toMatchObject({ error: 'FORBIDDEN', details: { publicKey } });
  });
});
