import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchCoin, tokensOf, tradeOnChain, type QuotedCoin } from '../support/chain/quoted-trades.ts';
import { startTradingWorld, type Answered, type TradingGateway, type TradingWorld } from '../support/chain/trading-world.ts';
import { until } from '../support/gateway.ts';

/** Exits that are armed with a buy, over HTTP, against the simulated chain: live and on paper. */
const timeoutMs = 90_000;
const sol = 1_000_000_000n;
let world: TradingWorld;
const gateways = new Map<'live' | 'paper', TradingGateway>();
const wallets = new Map<'live' | 'paper', string>();

beforeAll(async () => {
  world = await startTradingWorld({ ingest: true });
  wallets.set('live', await world.wallet());
  const live = await world.gateway();
  gateways.set('live', await live.ready(wallets.get('live')!, launchCoin(world.chain).mint));
  const paper = await world.gateway({ config: { trading: 'paper', keystorePassphraseFile: null } });
  const made = await until('a paper wallet', async () => {
    const { status, body } = await paper.post('/paper/wallets', {});
    return status === 200 && body;
  });
  wallets.set('paper', String(made['publicKey']));
  gateways.set('paper', await paper.ready(wallets.get('paper')!, launchCoin(world.chain).mint));
}, timeoutMs);
afterAll(() => world.close());

type Trigger = Answered['body'];

describe.each(['live', 'paper'] as const)('exits on the server, %s', (mode) => {
  const arm = async (body: Readonly<Record<string, unknown>>): Promise<Trigger> => {
    const answer = await gateways.get(mode)!.ask('/trade/triggers', body);
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    return answer.body;
  };
  const get = async (path: string): Promise<Trigger> => {
    const { status, body } = await gateways.get(mode)!.get(path);
    expect(status, JSON.stringify(body)).toBe(200);
    return body;
  };
  const trigger = (id: unknown): Promise<Trigger> => get(`/trade/triggers/${String(id)}`);
  const inState = async (id: unknown, status: string): Promise<Trigger> => {
    let last: Trigger = {};
    try {
      return await until(`${String(id)} to be ${status}`, async () => (last = await trigger(id))['status'] === status && last, 20_000);
    } catch (error) {
      throw new Error(`${String(error)}: ${JSON.stringify(last)}`, { cause: error });
    }
  };
  const filled = (orderId: unknown): Promise<{ readonly baseAmount: string; readonly price: number }> =>
    until('the fill', async () => {
      const order = await get(`/trade/orders/${String(orderId)}`);
      return order['fill'] !== null && (order['fill'] as { baseAmount: string; price: number });
    });

  /** Buys at once, with a take profit and a stop loss for exactly what is bought. */
  async function boughtWithExits(coin: QuotedCoin): Promise<{ readonly bought: bigint; readonly take: unknown; readonly stop: unknown }> {
    const publicKey = wallets.get(mode)!;
    const armed = await arm({
      publicKey,
      mint: coin.mint,
      side: 'buy',
      amount: 0.2,
      slippage: 20,
      when: { at: Date.now() - 1_000 },
      then: [],
    });
    const { orderId } = await inState(armed['triggerId'], 'fired');
    const { price } = await filled(orderId);
    // The price is known now, so that the exits of a second buy can be far from it and close to each other.
    const exits = { side: 'sell', amount: '100%', slippage: 20, ocoGroup: `exits of ${coin.mint}` };
    const second = await arm({
      publicKey,
      mint: coin.mint,
      side: 'buy',
      amount: 0.3,
      slippage: 20,
      when: { at: Date.now() },
      then: [
        { ...exits, when: { metric: 'priceSol', op: '>=', value: price * 2 } },
        { ...exits, when: { metric: 'priceSol', op: '<=', value: price * 0.5 } },
      ],
    });
    const { children } = second as unknown as { readonly children: readonly string[] };
    const fired = await inState(second['triggerId'], 'fired');
    const { baseAmount } = await filled(fired['orderId']);
    const [take, stop] = children;
    for (const child of [take, stop]) expect(await inState(child, 'armed')).toMatchObject({ parentAmount: baseAmount });
    return { bought: BigInt(baseAmount), take, stop };
  }

  it(
    'sells what a buy bought, to the unit, once: when the price rises, the take profit; the stop is cancelled',
    async () => {
      const coin = launchCoin(world.chain);
      const { bought, take, stop } = await boughtWithExits(coin);
      tradeOnChain(world.chain, coin, 'pump', { exact: 'quoteIn', amount: 40n * sol }, 1n);
      const fired = await inState(take, 'fired');
      expect(await inState(stop, 'cancelled')).toMatchObject({ orderId: null });
      expect(BigInt((await filled(fired['orderId'])).baseAmount)).toBe(bought);
      const { orders } = (await get('/trade/orders?limit=100')) as unknown as { readonly orders: readonly Trigger[] };
      expect(orders.filter(({ mint, side }) => mint === coin.mint && side === 'sell')).toHaveLength(1);
    },
    timeoutMs,
  );

  it(
    'sells half at a loss of the position, with the average cost of all its buys, and counts what happened',
    async () => {
      const coin = launchCoin(world.chain);
      tradeOnChain(world.chain, coin, 'pump', { exact: 'quoteIn', amount: 30n * sol }, 1n);
      const { bought, stop } = await boughtWithExits(coin);
      const cancelled = await fetch(`http://${gateways.get(mode)!.host}/trade/triggers/${String(stop)}`, {
        method: 'DELETE',
        headers: { authorization: `Bearer ${world.operatorKey}` },
      });
      expect(await cancelled.json()).toMatchObject({ status: 'cancelled' });
      const before = (await get('/status'))['triggers'] as Readonly<Record<string, number>>;
      const publicKey = wallets.get(mode)!;
      const order = { publicKey, mint: coin.mint, side: 'sell', amount: '50%', slippage: 25 };
      const loss = await arm({ ...order, when: { position: 'profitPct', op: '<=', value: -30 } });
      tradeOnChain(world.chain, coin, 'pump', { exact: 'baseIn', amount: (tokensOf(world.chain, coin) * 8n) / 10n }, 1n);
      const fired = await inState(loss['triggerId'], 'fired');
      // Of both buys, so more than half of the second one.
      const sold = BigInt((await filled(fired['orderId'])).baseAmount);
      expect(sold > bought / 2n && sold < bought).toBe(true);
      const after = (await get('/status'))['triggers'] as Readonly<Record<string, number>>;
      expect([after['begun']! - before['begun']!, after['fired']! - before['fired']!]).toEqual([1, 1]);
    },
    timeoutMs,
  );

  it(
    'sells with the stop when the price falls, and cancels the take profit',
    async () => {
      const coin = launchCoin(world.chain);
      // Somebody holds enough to let the price fall. What is left in the pool is deep enough to count.
      tradeOnChain(world.chain, coin, 'pump', { exact: 'quoteIn', amount: 30n * sol }, 1n);
      const { bought, take, stop } = await boughtWithExits(coin);
      tradeOnChain(world.chain, coin, 'pump', { exact: 'baseIn', amount: (tokensOf(world.chain, coin) * 8n) / 10n }, 1n);
      const fired = await inState(stop, 'fired');
      await inState(take, 'cancelled');
      expect(BigInt((await filled(fired['orderId'])).baseAmount)).toBe(bought);
    },
    timeoutMs,
  );
});
