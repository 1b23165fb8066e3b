import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { setTimeout as pause } from 'node:timers/promises';
import { defaultPlans } from '@sluice/shared/config/plans.ts';
import type { TradeAnswer } from '@sluice/shared/wire/rest/trading/trade.ts';
import { createPlaceBatch } from '../../trading/src/place/batch/place-batch.ts';
import type { PlaceOrder } from '../../trading/src/place/place-order.ts';
import type { TradeRequest } from '../../trading/src/prepare/request.ts';
import { launchCoin } from '../support/chain/quoted-trades.ts';
import { startTradingWorld, type Answered, type TradingGateway, type TradingWorld } from '../support/chain/trading-world.ts';
import { until } from '../support/gateway.ts';
import { makeKey } from '../support/keys.ts';

type Result = Record<string, unknown> & { readonly error?: { readonly code: string; readonly details: Record<string, unknown> } | null };

let world: TradingWorld;
let gateway: TradingGateway;
let mint: string;
let wallets: readonly string[];

const path = '/trade/batch';
/** Different amounts, because a wallet may place only few identical orders on one blockhash. */
let orders = 0;
const buy = (publicKey: string, more: object = {}): object => ({
  side: 'buy',
  publicKey,
  mint,
  amount: 0.01 + ++orders / 1e6,
  slippage: 50,
  priorityFee: 0.0001,
  ...more,
});

function resultsOf({ status, body }: Answered): readonly Result[] {
  expect(status, JSON.stringify(body)).toBe(200);
  return body['results'] as readonly Result[];
}

const idsOf = (results: readonly Result[]): readonly unknown[] => results.map(({ orderId }) => orderId);

/** Repeats the batch while an order of it was refused temporarily, as clients should do: on a slow machine nodes answer late. */
const ask = (body: object, idempotencyKey: string, at = gateway): Promise<Answered> =>
  at.ask(path, body, { idempotencyKey }, (answer) => {
    const refused = (answer.body['results'] ?? [answer.body]) as readonly Result[];
    return refused.some(({ error }) => error != null && ['UPSTREAM_UNAVAILABLE', 'IDEMPOTENCY_IN_PROGRESS'].includes(error.code));
  });

beforeAll(async () => {
  world = await startTradingWorld();
  wallets = [await world.wallet(), await world.wallet(), await world.wallet()];
  ({ mint } = launchCoin(world.chain));
  gateway = await (await world.gateway()).ready(wallets[0]!, mint);
}, 90_000);
afterAll(() => world.close());

describe('POST /trade/batch', () => {
  it(
    'places twenty orders of three wallets, one of which is refused, each exactly once however often it is sent',
    { timeout: 120_000 },
    async () => {
      const failing = 7;
      const batch = {
        orders: Array.from({ length: 20 }, (_, at) => {
          const publicKey = wallets[at % wallets.length]!;
          return at === failing ? { side: 'sell', publicKey, mint, amount: 1e9 } : buy(publicKey);
        }),
      };
      const results = resultsOf(await ask(batch, 'twenty'));
      expect(results.length).toBe(20);
      for (const [at, result] of results.entries()) {
        if (at === failing) expect(result).toMatchObject({ error: { code: 'INSUFFICIENT_BALANCE', retryable: false } });
        else
          expect(result).toMatchObject({
            side: 'buy',
            mint,
            publicKey: wallets[at % wallets.length],
            error: null,
            orderId: expect.any(String),
          });
      }
      const again = await ask(batch, 'twenty');
      expect(again.headers.get('idempotency-replayed')).toBe('true');
      expect(idsOf(resultsOf(again))).toEqual(idsOf(results));
      await until('all to land', () => wallets.flatMap((one) => world.landed(one)).length === 19, 30_000);
      const signatures = results.flatMap(({ signature }) => (typeof signature === 'string' ? [signature] : []));
      expect(new Set(wallets.flatMap((one) => world.landed(one)))).toEqual(new Set(signatures));
      expect(world.sent()).toEqual(new Set(signatures));
    },
  );

  it('refuses another request with the key of a batch, and a batch with the key of another request', async () => {
    const [first, second] = [buy(wallets[0]!), buy(wallets[1]!)];
    const results = resultsOf(await ask({ orders: [first, second] }, 'mine'));
    expect(idsOf(results)).toEqual([expect.any(String), expect.any(String)]);
    const sent = world.sent().size;
    const mismatch = { status: 422, body: { error: { code: 'IDEMPOTENCY_MISMATCH' } } };
    // An order that the key does not know yet must not be placed either.
    for (const others of [
      [second, first],
      [first, second, buy(wallets[2]!)],
      [buy(wallets[0]!), buy(wallets[1]!)],
    ])
      expect(await ask({ orders: others }, 'mine')).toMatchObject(mismatch);
    const { side: _side, ...single } = buy(wallets[0]!) as { readonly side: string };
    expect(await gateway.post('/trade/buy', single, { idempotencyKey: 'mine' })).toMatchObject(mismatch);
    expect((await gateway.ask('/trade/buy', single, { idempotencyKey: 'single' })).status).toBe(200);
    expect(await ask({ orders: [first, second] }, 'single')).toMatchObject(mismatch);
    expect(world.sent().size).toBe(sent + 1);
  });

  it('places what is missing if an earlier request placed only a part, and nothing twice', async () => {
    const batch = { orders: [buy(wallets[0]!), buy(wallets[0]!), buy(wallets[0]!)] };
    let simulations = 0;
    // Trading is halted while the second order is simulated.
    world.node.tampering = async ({ method }, answer) => {
      if (method === 'simulateTransaction' && ++simulations === 2) {
        await world.store.halt.set(true, 'a test', Date.now());
        await until(
          'the halt',
          async () => (await gateway.post('/trade/buy', { ...batch.orders[0], side: undefined, dryRun: true })).status === 503,
        );
      }
      return answer();
    };
    const before = world.sent().size;
    const halted = resultsOf(await gateway.post(path, batch, { idempotencyKey: 'halted' }));
    world.node.tampering = null;
    expect(halted).toMatchObject([
      { orderId: expect.any(String) },
      { error: { code: 'TRADING_HALTED' } },
      { error: { code: 'TRADING_HALTED' } },
    ]);
    expect(world.sent().size).toBe(before + 1);
    await world.store.halt.set(false, null, Date.now());
    await until(
      'the end of the halt',
      async () => (await gateway.post('/trade/buy', { ...batch.orders[0], side: undefined, dryRun: true })).status === 200,
    );
    const whole = resultsOf(await ask(batch, 'halted'));
    expect(idsOf(whole)).toEqual([halted[0]!['orderId'], expect.any(String), expect.any(String)]);
    expect(world.sent().size).toBe(before + 3);
  });

  it('counts the whole batch against the daily limit of a wallet, in the order of the request', async () => {
    const spender = await world.wallet();
    const signerLimits = { maxOrderLamports: 10n ** 9n, maxDayLamports: 10n ** 9n };
    const limited = await (await world.gateway({ config: { signerLimits } })).ready(spender, mint);
    const batch = { orders: [0.4, 0.4, 0.4, 0.1].map((amount) => buy(spender, { amount })) };
    const codes = resultsOf(await ask(batch, 'day', limited)).map(({ error }) => error?.code ?? null);
    expect(codes).toEqual([null, null, 'FORBIDDEN', null]);
  });

  it('checks each order by itself: 400 for a malformed one, its own error for one that cannot be placed', async () => {
    const [one, two] = [buy(wallets[0]!, { dryRun: true }), buy(wallets[1]!, { dryRun: true })];
    for (const list of [[], [one], Array.from({ length: 21 }, () => one)]) {
      const { status, body } = await gateway.post(path, { orders: list });
      expect(status).toBe(400);
      expect(body).toMatchObject({ error: { code: 'INVALID_REQUEST', details: { fields: { orders: expect.any(String) } } } });
    }
    const wrong: readonly (readonly [object, string])[] = [
      [{ ...two, side: 'hold' }, 'orders.1.side'],
      [{ ...two, sellAll: true }, 'orders.1.sellAll'],
      [{ ...two, slippage: 99 }, 'orders.1.slippage'],
    ];
    for (const [order, field] of wrong) {
      const { status, body } = await gateway.post(path, { orders: [one, order] });
      expect([status, Object.keys((body as { error: { details: { fields: object } } }).error.details.fields)]).toEqual([400, [field]]);
    }
    const answer = await ask({ orders: [one, { ...two, mint: 'no mint' }, two] }, 'dry');
    expect(resultsOf(answer)).toMatchObject([
      { status: 'simulated', dryRun: true },
      { error: { code: 'INVALID_MINT' } },
      { status: 'simulated' },
    ]);
  });

  it('counts as one request for each order', async () => {
    const plans = { ...defaultPlans, standard: { ...defaultPlans.standard, requestsPerMinute: 1, burst: 10 } };
    const counting = await (await world.gateway({ config: { plans } })).ready(wallets[0]!, mint);
    const { key } = await makeKey(world.store, { plan: 'standard', scopes: ['trade'] });
    const dry = (count: number): object => ({ orders: Array.from({ length: count }, () => buy(wallets[0]!, { dryRun: true })) });
    const left = ({ headers }: Answered): number => Number(headers.get('x-ratelimit-remaining'));
    expect(left(await counting.post(path, dry(4), { key }))).toBe(6);
    const refused = await counting.post(path, dry(7), { key });
    expect(refused).toMatchObject({ status: 429, body: { error: { code: 'RATE_LIMIT' } } });
    expect(left(refused)).toBe(5);
    expect((await counting.post(path, dry(5), { key })).status).toBe(200);
  });
});

describe('a batch', () => {
  it('keeps the order of its results, and places the orders of one wallet in turn', async () => {
    const request = (wallet: string, at: number): TradeRequest =>
      ({ publicKey: wallet, order: { amount: { kind: 'ui', value: at } } }) as unknown as TradeRequest;
    const parts = fc.array(fc.record({ wallet: fc.nat(9), takesMs: fc.nat(3), fails: fc.nat(3) }), {
      minLength: 2,
      maxLength: 20,
    });
    await fc.assert(
      fc.asyncProperty(parts, async (of) => {
        const running = new Set<string>();
        const begun = new Map<string, number[]>();
        let most = 0;
        const placeOrder: PlaceOrder = async (_owner, asked) => {
          const { publicKey, order } = asked as TradeRequest;
          const at = (order.amount as { readonly value: number }).value;
          expect(running.has(publicKey)).toBe(false);
          running.add(publicKey);
          most = Math.max(most, running.size);
          begun.set(publicKey, [...(begun.get(publicKey) ?? []), at]);
          await pause(of[at]!.takesMs);
          running.delete(publicKey);
          if (of[at]!.fails === 0) throw new Error('a bug');
          if (of[at]!.fails === 1) return { error: 'SIMULATION_FAILED', details: { at } };
          return { answer: { orderId: `ord_${at}` } as TradeAnswer, isReplay: false };
        };
        const log = { error: () => undefined };
        const placeBundle = () => Promise.reject(new Error('there is no bundle'));
        const place = createPlaceBatch({ placeOrder, placeBundle, orders: world.store.orders, signal: new AbortController().signal, log });
        const owner = { keyId: 'key', accountId: null };
        const outcome = await place(owner, { kind: 'separate', requests: of.map(({ wallet }, at) => request(String(wallet), at)) }, null);
        if ('error' in outcome) throw new Error(outcome.error);
        const expected = of.map(({ fails }, at) =>
          fails === 0
            ? { error: { code: 'INTERNAL' } }
            : fails === 1
              ? { error: { code: 'SIMULATION_FAILED', details: { at } } }
              : { orderId: `ord_${at}` },
        );
        expect(outcome.answer.results).toMatchObject(expected);
        for (const line of begun.values()) expect(line).toEqual(line.toSorted((a, b) => a - b));
        expect(most).toBeLessThanOrEqual(8);
      }),
      { numRuns: 60 },
    );
  });
});
