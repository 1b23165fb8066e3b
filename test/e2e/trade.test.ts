import { Value } from 'typebox/value';
import { toUi } from '@sluice/shared/solana/amounts.ts';
import { tokenProgram, usdcMint, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { canonicalPoolAddress } from '@sluice/shared/venues/pump-amm/program.ts';
import { bondingCurveAddress } from '@sluice/shared/venues/pump/program.ts';
import { OrderObject, TradeAnswer } from '@sluice/shared/wire/rest/trade.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { NewCoin } from '../simnet/market/instructions.ts';
import { deriveTokenAccount } from '../simnet/runtime/derive.ts';
import { until } from '../support/gateway.ts';
import { launchCoin, moveToPool, tokensOf, tradeOnChain, type QuotedCoin } from '../support/quoted-trades.ts';
import { StreamClient } from '../support/stream-client.ts';
import { effectOf, startTradingWorld, type Asked, type TradingGateway, type TradingWorld } from '../support/trading-world.ts';

/** Orders of every kind through gateway, signing process, simulated chain and ingest, followed to their ends. */
let world: TradingWorld;
let gateway: TradingGateway;
let stream: StreamClient;

beforeAll(async () => {
  world = await startTradingWorld({ ingest: true });
  gateway = await world.gateway();
  await gateway.ready(await world.wallet({ usdc: true }), launchCoin(world.chain).mint);
  stream = await new StreamClient(`ws://${gateway.host}/api/data`, { authorization: `Bearer ${world.operatorKey}` }).open();
  expect(await stream.ask({ op: 'subscribe', channel: 'orders' })).toMatchObject({ op: 'subscribed' });
});
afterAll(async () => {
  stream.close();
  await world.close();
});

type Body = Readonly<Record<string, unknown>>;

async function order(orderId: string, asked: Asked = {}, at = gateway): Promise<OrderObject> {
  const { status, body } = await at.get(`/trade/orders/${orderId}`, asked);
  if (status !== 200) throw new Error(JSON.stringify(body));
  expect(Value.Errors(OrderObject, body)).toEqual([]);
  return body as unknown as OrderObject;
}

/** The order once it is in a block that stays, and its fill is known. */
function settled(orderId: string, states: readonly string[], asked: Asked = {}, at = gateway): Promise<OrderObject> {
  return until(`${orderId} to be ${states.join(' or ')}`, async () => {
    const now = await order(orderId, asked, at);
    if (now.status === 'failed' || now.status === 'expired') throw new Error(JSON.stringify(now));
    return states.includes(now.status) && now.fill !== null && now;
  });
}
const confirmed = (orderId: string, asked?: Asked, at?: TradingGateway): Promise<OrderObject> =>
  settled(orderId, ['confirmed', 'finalized'], asked, at);
const finalized = (orderId: string, asked?: Asked, at?: TradingGateway): Promise<OrderObject> => settled(orderId, ['finalized'], asked, at);

const steps = ['totalMs', 'quoteMs', 'buildMs', 'simulateMs', 'signMs', 'storeMs', 'sendMs'] as const;

/** An order that is taken; its answer is of the documented form, and its steps take no longer than all of it. */
async function taken(side: 'buy' | 'sell', body: Body, asked: Asked = {}, at = gateway): Promise<TradeAnswer> {
  const told = await at.post(`/trade/${side}`, body, asked);
  expect(told.status, JSON.stringify(told.body)).toBe(200);
  const answer = told.body as unknown as TradeAnswer;
  expect(Value.Errors(TradeAnswer, answer)).toEqual([]);
  const { mint, publicKey } = body;
  expect(answer).toMatchObject({ status: 'submitted', side, mint, publicKey, error: null });
  const { totalMs, ...parts } = answer.timing;
  const expected = body['skipSimulation'] === true ? steps.filter((step) => step !== 'simulateMs') : steps;
  expect(Object.keys(answer.timing).toSorted()).toEqual(expected.toSorted());
  expect(Object.values(parts).reduce((sum, ms) => sum + ms, 0)).toBeLessThanOrEqual(totalMs + 0.01);
  expect(answer.simulation === null).toBe(body['skipSimulation'] === true);
  return answer;
}

interface Traded {
  readonly answer: TradeAnswer;
  readonly order: OrderObject;
}

/** An order from the request to its confirmed fill, which is the quote's, and what the chain's balances say. */
async function traded(side: 'buy' | 'sell', body: Body, asked: Asked = {}, at = gateway): Promise<Traded> {
  const answer = await taken(side, body, asked, at);
  const done = await confirmed(answer.orderId!, asked, at);
  expect(done).toMatchObject({ kind: 'lightning', side, mint: answer.mint, pool: answer.pool, signature: answer.signature, error: null });
  expect(done.quote).toEqual(answer.quote);
  expectFill(done);
  const { quote } = answer;
  const fill = done.fill!;
  const [given, gotten] = side === 'buy' ? [fill.traderQuoteAmount, fill.baseAmount] : [fill.baseAmount, fill.traderQuoteAmount];
  expect([given, gotten, fill.venueFees]).toEqual([quote.inAmount, quote.outAmount, quote.fees.total]);
  return { answer, order: done };
}

/** The fill equals what the landed transaction did to the wallet, by the chain's own balances. */
function expectFill({ fill, side, signature, publicKey, mint, quoteMint, pool }: OrderObject): void {
  if (fill === null) throw new Error('there is no fill');
  const record = world.chain.transaction(signature!)!;
  expect(record.err).toBeNull();
  const effect = effectOf(record, publicKey!, mint!, quoteMint!);
  const sign = side === 'buy' ? 1n : -1n;
  const [base, paid] = [sign * BigInt(fill.baseAmount), sign * BigInt(fill.traderQuoteAmount)];
  const inSol = quoteMint === wrappedSolMint;
  const beside = BigInt(fill.networkFee) + BigInt(fill.otherLamports);
  expect(effect).toEqual({
    tokens: base,
    quoteCoins: inSol ? 0n : -paid,
    lamports: -beside - (inSol ? paid : 0n),
    fee: BigInt(fill.networkFee),
    rent: BigInt(fill.otherLamports),
  });
  const through = BigInt(fill.quoteAmount) + sign * BigInt(fill.venueFees);
  expect(through).toBe(BigInt(fill.traderQuoteAmount));
  expect(fill).toMatchObject({ pool, slot: record.slot, blockTime: record.blockTime });
  expect(fill.baseUiAmount).toBe(toUi(BigInt(fill.baseAmount), fill.baseDecimals));
  expect(fill.price).toBeCloseTo(fill.traderQuoteUiAmount / fill.baseUiAmount, 12);
}

const everything = 793_100_000_000_000n;
const anyPrice = 10n ** 14n;
const kinds: readonly (readonly [string, Partial<NewCoin>])[] = [
  ['a coin against SOL', {}],
  ['a coin against USDC', { quoteMint: usdcMint }],
  ['a mayhem coin', { mayhem: true }],
  ['a cashback coin', { cashback: true }],
  ['a holder-reward coin', { holderReward: true }],
  ['a coin with its own creator fee', { creatorFeeBps: 150n }],
];

describe('orders on curves, and on the pools that coins move to', () => {
  it.concurrent.each(kinds)('%s', { timeout: 60_000 }, async (_, parts) => {
    const coin = launchCoin(world.chain, parts);
    const publicKey = await world.wallet({ usdc: true });
    const before = world.chain.account(publicKey)!.lamports;
    const onCurve = await tradeThrough(coin, publicKey, { pool: 'pump', poolAddress: bondingCurveAddress(coin.mint) });
    tradeOnChain(world.chain, coin, 'pump', { exact: 'baseOut', amount: everything }, anyPrice);
    moveToPool(world.chain, coin, false);
    await until(
      'the pool',
      async () => (await gateway.post('/trade/buy', { publicKey, mint: coin.mint, amount: 1, dryRun: true })).status === 200,
    );
    const poolAddress = canonicalPoolAddress(coin.mint, coin.quoteMint);
    const onPool = await tradeThrough(coin, publicKey, { pool: 'pump-amm', poolAddress });
    for (const { order: before } of [...onCurve, ...onPool]) expect((await finalized(before.orderId)).fill).toEqual(before.fill);
    // Every lamport that the wallet lost or got is in its orders.
    const spent = [...onCurve, ...onPool].reduce((sum, { order: { side, fill } }) => {
      const trade =
        coin.quoteMint !== wrappedSolMint ? 0n : side === 'buy' ? BigInt(fill!.traderQuoteAmount) : -BigInt(fill!.traderQuoteAmount);
      return sum + trade + BigInt(fill!.networkFee) + BigInt(fill!.otherLamports);
    }, 0n);
    expect(before - world.chain.account(publicKey)!.lamports).toBe(spent);
  });

  /** Buys, sells half, buys within named bounds for a named fee, and sells the rest. */
  async function tradeThrough(coin: QuotedCoin, publicKey: string, at: { pool: string; poolAddress: string }): Promise<Traded[]> {
    const { mint, quoteMint } = coin;
    const named = at.pool === 'pump' ? {} : { pool: at.pool };
    const [inDecimals, unit] = quoteMint === usdcMint ? [6, 10n ** 6n] : [9, 10n ** 9n];
    const bought = await traded('buy', { publicKey, mint, amount: 1.25, slippage: 2.5 });
    expect(bought.answer).toMatchObject({
      ...at,
      quoteMint,
      quote: { inAmount: String((unit * 125n) / 100n), inUiAmount: 1.25, inDecimals, outDecimals: 6 },
    });
    const out = BigInt(bought.answer.quote.outAmount);
    expect(bought.answer.quote).toMatchObject({ minOut: String((out * 975n + 999n) / 1000n), outUiAmount: toUi(out, 6) });
    expect(tokensOf(world.chain, coin, publicKey)).toBe(out);

    const half = await traded('sell', { publicKey, mint, amount: '50%', ...named });
    expect(half.answer.quote.inAmount).toBe(String(out / 2n));

    const quoted = await gateway.post('/quote', { side: 'buy', mint, amount: 0.5 });
    const { outAmount } = quoted.body['quote'] as { outAmount: string };
    const bounds = { minOut: outAmount, maxIn: String(unit / 2n) };
    const exact = await traded('buy', { publicKey, mint, amount: 0.5, ...bounds, priorityFee: 0.0005, ...named });
    expect(exact.answer.quote).toMatchObject({ ...bounds, outAmount });
    const fee = BigInt(exact.order.fill!.networkFee);
    expect(fee).toBeLessThanOrEqual(505_000n);
    expect(fee).toBeGreaterThan(504_900n);

    const number = await traded('sell', { publicKey, mint, amount: 1000.5, skipSimulation: true });
    expect(number.answer.quote).toMatchObject({ inAmount: '1000500000', inUiAmount: 1000.5 });

    const rest = tokensOf(world.chain, coin, publicKey);
    const all = await traded('sell', { publicKey, mint, sellAll: true });
    expect(all.answer.quote.inAmount).toBe(String(rest));
    // The token account is closed, and its rent is back.
    expect(world.chain.account(deriveTokenAccount(publicKey, mint, coin.tokenProgram).address)).toBeNull();
    expect(BigInt(all.order.fill!.otherLamports)).toBeLessThan(0n);
    expect(world.chain.account(deriveTokenAccount(publicKey, wrappedSolMint, tokenProgram).address)).toBeNull();
    return [bought, half, exact, number, all];
  }
});
