import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fingerprintOf } from '@sluice/trading/api/endpoints/idempotency.ts';
import type { OrderTable } from '@sluice/gateway/store/sql/tables/orders/orders.ts';
import { StoreUnavailableError } from '@sluice/gateway/store/store-unavailable.ts';
import type { Outcome } from '../../trading/src/place/outcome.ts';
import type { PlaceOrder } from '../../trading/src/place/place-order.ts';
import type { TradeRequest } from '../../trading/src/prepare/request.ts';
import type { TradeAnswer } from '@sluice/shared/wire/rest/trading/trade.ts';
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

/** Different orders, because a wallet may place only few identical ones on one blockhash. */
const amounts = (function* () {
  for (let lamports = 10_000_000; ; lamports++) yield { kind: 'coins', of: 'sol', text: String(lamports / 1e9) } as const;
})();

const keyOf = (key: string, body: unknown) => ({ endpoint: 'tradeBuy', key, fingerprint: fingerprintOf(body) });

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

  it('signs nothing while the store refuses orders, except what was on its way during the first refusal', { timeout: 90_000 }, async () => {
    const full = async (): Promise<never> => Promise.reject(new StoreUnavailableError(new Error('database or disk is full')));
    let isFull = true;
    const { orders } = world.store;
    const faulty: OrderTable = {
      ...orders,
      insert: (...order) => (isFull ? full() : orders.insert(...order)),
      probe: () => (isFull ? full() : orders.probe()),
    };
    const trading = await world.trading({ ...world.store, orders: faulty });
    const signed = (): number => trading.report()!.signer.counts.signed;
    const place = (): Promise<Outcome> =>
      trading.placeOrder(operator, buy({ order: { ...buy().order, amount: amounts.next().value } }), null);
    const placed = async (): Promise<void> => {
      await until('an order to be placed', async () => !('error' in (await place())), 60_000);
    };
    const sent = new Set(world.sent());
    await until('the quotes', async () => !('error' in (await trading.placeOrder(operator, buy({ dryRun: true }), null))), 60_000);
    const refused = { error: 'UPSTREAM_UNAVAILABLE', message: 'The store accepts no orders at present, so nothing was signed.' };
    for (const outcome of await Promise.all(Array.from({ length: 20 }, place))) expect(outcome).toMatchObject(refused);
    expect(signed()).toBe(0);
    expect(world.sent()).toEqual(sent);

    isFull = false;
    await placed();
    isFull = true;
    const before = signed();
    const outcomes = await Promise.all(Array.from({ length: 20 }, place));
    // Those that were signed are named, and not sent.
    const named = outcomes.filter((outcome) => 'error' in outcome && typeof outcome.details?.['signature'] === 'string');
    expect(named.length).toBe(signed() - before);
    const inFlight = signed();
    for (let i = 0; i < 5; i++) expect(await place()).toMatchObject(refused);
    expect(signed()).toBe(inFlight);
    isFull = false;
    await placed();
    expect(world.sent().size).toBe(sent.size + 2);
  });

  it('refuses a wallet of another account', async () => {
    const stranger = { keyId: 'key_stranger', accountId: 'stranger' };
    expect(await placeOrder(stranger, buy(), null)).toMatchObject({ error: 'FORBIDDEN', details: { publicKey } });
  });
});
