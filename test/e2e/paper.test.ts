import { Keypair, VersionedTransaction } from '@solana/web3.js';
import { Value } from 'typebox/value';
import { Portfolio } from '@sluice/shared/wire/rest/wallets/portfolio.ts';
import { OrderObject, TradeAnswer } from '@sluice/shared/wire/rest/trading/trade.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { wallet } from '../simnet/runtime/wallets.ts';
import { launchCoin, moveToPool, tradeOnChain, type QuotedCoin } from '../support/chain/quoted-trades.ts';
import { startTradingWorld, type Answered, type Asked, type TradingGateway, type TradingWorld } from '../support/chain/trading-world.ts';
import { until } from '../support/gateway.ts';

/** Trading on paper and live on one store: what it costs, what it leaves, and who may see it. */
const timeoutMs = 90_000;
const sol = 1_000_000_000n;
const outsider = wallet('trading', 'self-custody');
let world: TradingWorld;
let live: TradingGateway;
let paper: TradingGateway;

beforeAll(async () => {
  world = await startTradingWorld({ ingest: true, funded: [outsider] });
  live = await (await world.gateway()).ready(await world.wallet(), launchCoin(world.chain).mint);
  // Nothing of a keystore is within its reach.
  const config = { trading: 'paper', keystorePassphraseFile: null } as const;
  paper = await (await world.gateway({ config })).ready(outsider.publicKey, launchCoin(world.chain).mint);
}, timeoutMs);
afterAll(() => world.close());

async function newWallet(body: Readonly<Record<string, unknown>> = {}, asked: Asked = {}): Promise<string> {
  const { status, body: made } = await paper.ask('/paper/wallets', body, asked);
  expect(status, JSON.stringify(made)).toBe(200);
  return String(made['publicKey']);
}

async function traded(side: 'buy' | 'sell', body: Readonly<Record<string, unknown>>, at = paper, asked: Asked = {}): Promise<OrderObject> {
  const reply = await at.ask(`/trade/${side}`, body, asked);
  expect(reply.status, JSON.stringify(reply.body)).toBe(200);
  expect(Value.Errors(TradeAnswer, reply.body)).toEqual([]);
  const done = await until('its fill', async () => {
    const { body: order } = await at.get(`/trade/orders/${String(reply.body['orderId'])}`, asked);
    return order['fill'] !== null && order;
  });
  expect(Value.Errors(OrderObject, done)).toEqual([]);
  return done as unknown as OrderObject;
}

async function portfolioOf(publicKey: string, at = paper, asked: Asked = {}): Promise<Portfolio> {
  const { status, body } = await at.get(`/portfolio/${publicKey}`, asked);
  expect(status, JSON.stringify(body)).toBe(200);
  expect(Value.Errors(Portfolio, body)).toEqual([]);
  return body as unknown as Portfolio;
}

/** What a fill took from its wallet, lamports. */
function costOf({ side, fill }: OrderObject): bigint {
  const { traderQuoteAmount, networkFee, otherLamports } = fill!;
  const quote = BigInt(traderQuoteAmount);
  return (side === 'buy' ? quote : -quote) + BigInt(networkFee) + BigInt(otherLamports);
}

function coinOf(pool: 'pump' | 'pump-amm'): QuotedCoin {
  const coin = launchCoin(world.chain);
  if (pool === 'pump-amm') {
    tradeOnChain(world.chain, coin, 'pump', { exact: 'quoteIn', amount: 10n ** 14n }, 1n);
    moveToPool(world.chain, coin, false);
  }
  return coin;
}

function errorOf({ body }: Answered): unknown {
  return (body['error'] as { readonly code: string } | undefined)?.code;
}

describe.each(['pump', 'pump-amm'] as const)('a round trip on %s', (pool) => {
  it('costs on paper what it costs live, and ends with the result', { timeout: timeoutMs }, async () => {
    const { mint } = coinOf(pool);
    const publicKey = await newWallet();
    const custodial = await world.wallet();
    const terms = { mint, priorityFee: 0.0001, slippage: 50 };
    const sent = world.sent();
    const buy = { ...terms, publicKey, amount: 0.4 };
    const bought = await traded('buy', buy, paper, { idempotencyKey: `buy-${pool}` });
    expect(bought).toMatchObject({ kind: 'paper', status: 'finalized', signature: null, error: null, pool });
    // A repeated request returns the order, and takes nothing.
    expect((await traded('buy', buy, paper, { idempotencyKey: `buy-${pool}` })).orderId).toBe(bought.orderId);
    const held = await portfolioOf(publicKey);
    expect(BigInt(held.sol.amount)).toBe(10n * sol - costOf(bought));
    expect(held.holdings).toMatchObject([{ mint, amount: bought.fill!.baseAmount, unpriced: null }]);
    expect(held.paper).toMatchObject({ startAmount: String(10n * sol), startUiAmount: 10 });
    expect(held.paper!.resultSol).toBeCloseTo(held.totals.valueSol - 10, 9);
    const second = await traded('buy', buy);

    // The same orders live. Orders on paper did not move the price; the first live one does.
    const bodies = { ...buy, publicKey: custodial };
    const first = await traded('buy', bodies, live);
    expect(world.sent().size).toBe(sent.size + 1);
    const amounts = ({ fill }: OrderObject) => ({ ...fill, slot: 0, blockTime: null });
    expect(amounts(bought)).toEqual(amounts(first));
    // The accounts that the first order paid for exist.
    expect(BigInt(second.fill!.otherLamports)).toBeLessThan(BigInt(bought.fill!.otherLamports));

    const { body: quoted } = await paper.ask('/quote', { publicKey, mint, side: 'sell', amount: '50%' });
    const half = (BigInt(bought.fill!.baseAmount) + BigInt(second.fill!.baseAmount)) / 2n;
    expect((quoted['quote'] as { readonly inAmount: string }).inAmount).toBe(String(half));
    const sold = await traded('sell', { ...terms, publicKey, amount: '50%' });
    expect(sold.fill).toMatchObject({ baseAmount: String(half) });
    const rest = await traded('sell', { ...terms, publicKey, sellAll: true });
    const ended = await portfolioOf(publicKey);
    const result = [bought, second, sold, rest].reduce((sum, order) => sum - costOf(order), 0n);
    expect(ended).toMatchObject({ holdings: [], emptyAccounts: 1, sol: { amount: String(10n * sol + result) } });
    expect(ended.paper!.resultSol).toBeCloseTo(Number(result) / 1e9, 9);
    expect(ended.paper!.resultPct).toBeCloseTo(Number(result) / 1e8, 9);
    expect(errorOf(await paper.ask('/trade/sell', { ...terms, publicKey, amount: '50%' }))).toBe('INSUFFICIENT_BALANCE');
    // Neither the chain nor the live wallet knows of it.
    expect(world.landed(publicKey)).toEqual([]);
    expect(world.chain.account(publicKey)).toBeNull();
    expect(world.landed(custodial)).toEqual([first.signature]);
  });
});

describe('TRADING=paper', () => {
  it('follows the price of the chain, refuses as live trading does, and sends nothing', { timeout: timeoutMs }, async () => {
    const coin = coinOf('pump');
    const publicKey = await newWallet({ amount: 1, label: 'small' });
    const body = { publicKey, mint: coin.mint, amount: 0.4 };
    const dryRun = async (more = {}): Promise<Answered> => paper.ask('/trade/buy', { ...body, ...more, dryRun: true });
    const before = (await dryRun()).body as unknown as TradeAnswer;
    expect(before).toMatchObject({ paper: true, dryRun: true, orderId: null, status: 'simulated' });
    tradeOnChain(world.chain, coin, 'pump', { exact: 'quoteIn', amount: 10n * sol }, 1n);
    await until('the moved market', async () => {
      const { quote } = (await dryRun()).body as unknown as TradeAnswer;
      return BigInt(quote.outAmount) < BigInt(before.quote.outAmount);
    });
    const tooMuch = await dryRun({ amount: 2 });
    expect(tooMuch.body).toMatchObject({
      error: { code: 'INSUFFICIENT_BALANCE', details: { unit: 'lamports', have: String(sol), decimals: 9 } },
    });
    expect(errorOf(await dryRun({ minOut: before.quote.outAmount }))).toBe('SLIPPAGE_EXCEEDED');
    expect((await portfolioOf(publicKey)).sol.amount).toBe(String(sol));
    const { body: unsigned } = await paper.ask('/transaction/buy', { ...body, publicKey: outsider.publicKey });
    const transaction = VersionedTransaction.deserialize(Buffer.from(String(unsigned['transaction']), 'base64'));
    transaction.sign([Keypair.fromSeed(outsider.seed)]);
    const sent = world.sent();
    const refused = await paper.post('/transaction/send', { transaction: Buffer.from(transaction.serialize()).toString('base64') });
    expect(refused).toMatchObject({ status: 503, body: { error: { code: 'TRADING_HALTED', message: expect.stringContaining('paper') } } });
    expect(world.sent()).toEqual(sent);
  });

  it('lets only the owner of a wallet see, set and reset its balance', { timeout: timeoutMs }, async () => {
    const { mint } = coinOf('pump');
    const key = await world.key(['read', 'trade'], await world.account('paper owner'));
    const publicKey = await newWallet({ label: 'mine' }, { key });
    await traded('buy', { publicKey, mint, amount: 0.5 }, paper, { key });
    const { body: set } = await paper.ask('/paper/balance', { publicKey, amount: 25.000000001 }, { key });
    expect(set).toMatchObject({ publicKey, label: 'mine', amount: '25000000001', uiAmount: 25.000000001 });
    const held = await portfolioOf(publicKey, paper, { key });
    expect(held).toMatchObject({ sol: { amount: '25000000001' }, holdings: [{ mint }] });
    // Setting the balance is no profit.
    expect(held.paper!.resultSol).toBeLessThan(0);
    const { body: reset } = await paper.ask('/paper/balance', { publicKey, amount: 10, reset: true }, { key });
    expect(reset).toMatchObject({ amount: String(10n * sol), startAmount: String(10n * sol), startedAtMs: expect.any(Number) });
    expect(await portfolioOf(publicKey, paper, { key })).toMatchObject({ holdings: [], paper: { resultSol: 0, resultPct: 0 } });
    for (const stranger of [{}, { key: await world.key(['read', 'trade'], await world.account('stranger')) }]) {
      expect(errorOf(await paper.ask('/paper/balance', { publicKey, amount: 1 }, stranger))).toBe('FORBIDDEN');
      expect(errorOf(await paper.ask('/trade/buy', { publicKey, mint, amount: 0.1 }, stranger))).toBe('FORBIDDEN');
      const seen = await portfolioOf(publicKey, paper, stranger);
      expect(seen).toMatchObject({ sol: { amount: '0' }, holdings: [] });
      expect(seen).not.toHaveProperty('paper');
    }
  });

  it('and live trading never use the wallets of each other', { timeout: timeoutMs }, async () => {
    const { mint } = coinOf('pump');
    const [publicKey, custodial] = [await newWallet(), await world.wallet()];
    await traded('buy', { publicKey, mint, amount: 0.5 });
    // After a change of the mode, the balance is not shown, the wallet does not trade, and the orders stay marked.
    const afterwards = await portfolioOf(publicKey, live);
    expect(afterwards).toMatchObject({ sol: { amount: '0' }, holdings: [] });
    expect(afterwards).not.toHaveProperty('paper');
    expect(errorOf(await live.ask('/trade/buy', { publicKey, mint, amount: 0.1 }))).toBe('FORBIDDEN');
    expect(errorOf(await live.ask('/paper/balance', { publicKey, amount: 5 }))).toBe('FORBIDDEN');
    expect(errorOf(await live.ask('/paper/wallets', {}))).toBe('FORBIDDEN');
    const { body } = await live.get('/trade/orders?limit=1');
    expect(body).toMatchObject({ orders: [{ publicKey, kind: 'paper' }] });
    expect((await paper.ask('/trade/buy', { publicKey: custodial, mint, amount: 0.1 })).body).toMatchObject({
      error: { code: 'FORBIDDEN', message: expect.stringContaining('Live wallets do not trade on paper') },
    });
    expect(await portfolioOf(custodial)).not.toHaveProperty('paper');
  });
});
