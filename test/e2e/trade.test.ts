import { setTimeout as pause } from 'node:timers/promises';
import { Keypair, PublicKey, SystemProgram, TransactionMessage, VersionedTransaction } from '@solana/web3.js';
import { Value } from 'typebox/value';
import { toUi } from '@sluice/shared/solana/encoding/amounts.ts';
import { tokenProgram, usdcMint, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { pump } from '../../venues/src/pump/curve/index.ts';
import { canonicalPoolAddress } from '@sluice/venues/pump/amm/program.ts';
import { bondingCurveAddress } from '@sluice/venues/pump/curve/program.ts';
import { OrderObject, orderPageEndpoint, SendAnswer, TradeAnswer, transactionBuyEndpoint } from '@sluice/shared/wire/rest/trading/trade.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { NewCoin } from '../simnet/market/instructions.ts';
import { wallet } from '../simnet/runtime/wallets.ts';
import { unitPriceInstruction } from '../simnet/programs/compute-budget.ts';
import { otherQuoteCoin } from '../simnet/programs/quote-coins.ts';
import { transferInstruction } from '../simnet/programs/system.ts';
import { transferCheckedInstruction } from '../simnet/programs/token/token-instructions.ts';
import { deriveTokenAccount } from '../simnet/layout/derive.ts';
import { tokenAmount } from '../simnet/layout/token-state.ts';
import { land } from '../simnet/support/test-chain.ts';
import { until } from '../support/gateway.ts';
import { expectFill } from '../support/chain/expect-fill.ts';
import { launchOlderCoin } from '../support/chain/older-coin.ts';
import { launchCoin, moveToPool, tokensOf, tradeOnChain, trader, wrapFor, type QuotedCoin } from '../support/chain/quoted-trades.ts';
import { StreamClient } from '../support/clients/stream-client.ts';
import {
  againAfterMs,
  isForTheMoment,
  signatureIn,
  startTradingWorld,
  type Asked,
  type TradingGateway,
  type TradingWorld,
} from '../support/chain/trading-world.ts';

/** Orders of every kind through gateway, signing process, simulated chain and ingest, followed to their ends. */
/** Has its own wallet. */
const outsider = wallet('trading', 'self-custody');
/** Far longer than necessary, because the machine may be busy. */
const timeoutMs = 90_000;
let world: TradingWorld;
let gateway: TradingGateway;
let stream: StreamClient;

beforeAll(async () => {
  world = await startTradingWorld({ ingest: true, funded: [outsider] });
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

/** The order once the stream has published it in one of these states with its fill. */
async function settled(orderId: string, states: readonly string[], asked: Asked = {}, at = gateway): Promise<OrderObject> {
  await until(`${orderId} to be ${states.join(' or ')}`, () => {
    const reply = stream.messages.findLast(({ data }) => data?.['orderId'] === orderId)?.data;
    const status = String(reply?.['status']);
    if (status === 'failed' || status === 'expired') throw new Error(JSON.stringify(reply));
    return states.includes(status) && reply?.['fill'] !== null;
  });
  return order(orderId, asked, at);
}
const confirmed = (orderId: string, asked?: Asked, at?: TradingGateway): Promise<OrderObject> =>
  settled(orderId, ['confirmed', 'finalized'], asked, at);
const finalized = (orderId: string, asked?: Asked, at?: TradingGateway): Promise<OrderObject> => settled(orderId, ['finalized'], asked, at);

const steps = ['totalMs', 'quoteMs', 'buildMs', 'simulateMs', 'signMs', 'storeMs', 'sendMs'] as const;

/** An order that is accepted. Its answer has the documented form, and its steps take no longer than the whole. */
async function taken(side: 'buy' | 'sell', body: Body, asked: Asked = {}, at = gateway): Promise<TradeAnswer> {
  const reply = await at.ask(`/trade/${side}`, body, asked);
  expect(reply.status, JSON.stringify(reply.body)).toBe(200);
  const answer = reply.body as unknown as TradeAnswer;
  expect(Value.Errors(TradeAnswer, answer)).toEqual([]);
  const { mint, publicKey } = body;
  expect(answer).toMatchObject({ status: 'submitted', side, mint, publicKey, error: null });
  const { totalMs, ...parts } = answer.timing;
  const expected = body['skipSimulation'] === true ? steps.filter((step) => step !== 'simulateMs') : steps;
  expect(new Set(Object.keys(answer.timing))).toEqual(new Set(expected));
  expect(Object.values(parts).reduce((sum, ms) => sum + ms, 0)).toBeLessThanOrEqual(totalMs + 0.01);
  expect(answer.simulation === null).toBe(body['skipSimulation'] === true);
  return answer;
}

interface Traded {
  readonly answer: TradeAnswer;
  readonly order: OrderObject;
}

/** An order from the request to its confirmed fill, which equals the quote and the chain's balances. */
async function traded(side: 'buy' | 'sell', body: Body, asked: Asked = {}, at = gateway): Promise<Traded> {
  const answer = await taken(side, body, asked, at);
  const done = await confirmed(answer.orderId!, asked, at);
  expect(done).toMatchObject({ kind: 'lightning', side, mint: answer.mint, pool: answer.pool, signature: answer.signature, error: null });
  expect(done.quote).toEqual(answer.quote);
  expectFill(world.chain, done);
  const { quote } = answer;
  const fill = done.fill!;
  const [given, gotten] = side === 'buy' ? [fill.traderQuoteAmount, fill.baseAmount] : [fill.baseAmount, fill.traderQuoteAmount];
  expect([given, gotten, fill.venueFees]).toEqual([quote.inAmount, quote.outAmount, quote.feeTotal]);
  return { answer, order: done };
}

const everything = 793_100_000_000_000n;
const anyPrice = 10n ** 14n;
const kinds: readonly (readonly [string, Partial<NewCoin> | 'older'])[] = [
  ['a coin against SOL', {}],
  ['a coin of SPL Token', 'older'],
  ['a coin against USDC', { quoteMint: usdcMint }],
  ['a coin against another coin', { quoteMint: otherQuoteCoin.mint }],
  ['a mayhem coin', { mayhem: true }],
  ['a cashback coin', { cashback: true }],
  ['a holder-reward coin', { holderReward: true }],
  ['a coin with its own creator fee', { creatorFeeBps: 150n }],
];

describe('orders on curves, and on the pools that coins migrate to', () => {
  it.concurrent.each(kinds)('%s', { timeout: timeoutMs }, async (_, parts) => {
    const coin = parts === 'older' ? await launchOlderCoin(world.chain) : launchCoin(world.chain, parts);
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
    for (const { order: once } of [...onCurve, ...onPool]) expect((await finalized(once.orderId)).fill).toEqual(once.fill);
    // Every lamport that the wallet lost or gained is in its orders.
    const spent = [...onCurve, ...onPool].reduce((sum, { order: { side, fill } }) => {
      const trade =
        coin.quoteMint !== wrappedSolMint ? 0n : side === 'buy' ? BigInt(fill!.traderQuoteAmount) : -BigInt(fill!.traderQuoteAmount);
      return sum + trade + BigInt(fill!.networkFee) + BigInt(fill!.otherLamports);
    }, 0n);
    expect(before - world.chain.account(publicKey)!.lamports).toBe(spent);
  });

  /** Buys, sells half, buys within given bounds for a given fee, and sells the rest. */
  async function tradeThrough(coin: QuotedCoin, publicKey: string, at: { pool: string; poolAddress: string }): Promise<Traded[]> {
    const { mint, quoteMint } = coin;
    const named = at.pool === 'pump' ? {} : { pool: at.pool };
    const inDecimals = quoteMint === usdcMint ? 6 : quoteMint === otherQuoteCoin.mint ? otherQuoteCoin.decimals : 9;
    const unit = 10n ** BigInt(inDecimals);
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

    const quoted = await gateway.ask('/quote', { side: 'buy', mint, amount: 0.5 });
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
    expect(tokensOf(world.chain, coin, publicKey)).toBe(0n);
    expect(world.chain.account(deriveTokenAccount(publicKey, wrappedSolMint, tokenProgram).address)).toBeNull();
    return [bought, half, exact, number, all];
  }
});

describe('requests that are sent once', () => {
  it(
    'a curve that ends between quote and simulation: the order goes to its pool, within the same request',
    { timeout: timeoutMs },
    async () => {
      const coin = launchCoin(world.chain);
      const publicKey = await world.wallet();
      await gateway.post('/trade/buy', { publicKey, mint: coin.mint, amount: 1, dryRun: true });
      world.node.tampering = async ({ method }, answer) => {
        if (method === 'simulateTransaction') {
          world.node.tampering = null;
          tradeOnChain(world.chain, coin, 'pump', { exact: 'baseOut', amount: everything }, anyPrice);
          moveToPool(world.chain, coin, false);
        }
        return answer();
      };
      const { answer } = await traded('buy', { publicKey, mint: coin.mint, amount: 1 });
      expect(answer).toMatchObject({ pool: 'pump-amm', poolAddress: canonicalPoolAddress(coin.mint, wrappedSolMint) });
      expect(world.node.tampering).toBeNull();
    },
  );

  it('the purchase that completes a curve is reduced to the rest', { timeout: timeoutMs }, async () => {
    const coin = launchCoin(world.chain);
    tradeOnChain(world.chain, coin, 'pump', { exact: 'quoteIn', amount: 80n * 10n ** 9n }, 1n);
    const publicKey = await world.wallet();
    const { answer } = await traded('buy', { publicKey, mint: coin.mint, amount: 50 });
    expect(BigInt(answer.quote.inAmount)).toBeLessThan(10n * 10n ** 9n);
    expect(answer.quote.maxIn).toBe('50000000000');
  });

  it('the automatic priority fee is what others pay for writing to the same accounts', { timeout: timeoutMs }, async () => {
    const { mint } = launchCoin(world.chain);
    const publicKey = await world.wallet();
    await gateway.post('/trade/buy', { publicKey, mint, amount: 0.1, dryRun: true });
    const price = 40_000n;
    const pays = [unitPriceInstruction(price), transferInstruction(trader.publicKey, bondingCurveAddress(mint), 1n)];
    // In more than a quarter of the blocks that count.
    for (let block = 0; block < 50; block++) land(world.chain, pays, [trader]);
    const fee = await until('the fee level', async () => {
      const { body } = await gateway.ask('/transaction/buy', { publicKey, mint, amount: 0.1 });
      const priorityFee = BigInt(String(body['priorityFee']));
      return priorityFee > 0n && [priorityFee, BigInt(Number(body['computeUnitLimit']))];
    });
    const [reply, units] = fee as [bigint, bigint];
    expect(reply).toBe((price * units + 999_999n) / 1_000_000n);
    const paid = await traded('buy', { publicKey, mint, amount: 0.1 });
    expect(BigInt(paid.order.fill!.networkFee)).toBe(5_000n + reply);
  });

  it('dryRun: quoted, built and simulated; no order, no signature, nothing sent', async () => {
    const { mint } = launchCoin(world.chain);
    const publicKey = await world.wallet();
    const [sent, orders] = [world.sent(), (await gateway.get('/trade/orders')).body['orders']];
    for (const [side, body] of [
      ['buy', { amount: 0.5 }],
      ['buy', { amount: 0.5, skipSimulation: true }],
    ] as const) {
      const { status, body: reply } = await gateway.ask(
        `/api/trade/${side}`,
        { publicKey, mint, dryRun: true, ...body },
        { idempotencyKey: 'dry' },
      );
      expect(status).toBe(200);
      expect(Value.Errors(TradeAnswer, reply)).toEqual([]);
      expect(reply).toMatchObject({ orderId: null, status: 'simulated', signature: null, lastValidBlockHeight: null, dryRun: true });
    }
    expect(world.sent()).toEqual(sent);
    expect(((await gateway.get('/trade/orders')).body['orders'] as OrderObject[]).map(({ orderId }) => orderId)).toEqual(
      (orders as OrderObject[]).map(({ orderId }) => orderId),
    );
  });

  it(
    'a hundred requests at once with one Idempotency-Key, at one gateway and over two: one message is sent, and all get the same order',
    { timeout: timeoutMs },
    async () => {
      const { mint } = launchCoin(world.chain);
      const publicKey = await world.wallet();
      const second = await (await world.gateway({ transport: 'node' })).ready(publicKey, mint);
      for (const [round, gateways] of [[gateway], [gateway, second]].entries()) {
        const sent = world.sent();
        const body = { publicKey, mint, amount: [0.05, 0.06][round] };
        const answers = await Promise.all(
          Array.from({ length: 100 }, (_, i) => persisted(gateways[i % gateways.length]!, body, { idempotencyKey: `hundred-${round}` })),
        );
        const [{ orderId, signature }] = answers as [TradeAnswer];
        expect(new Set(answers.map((answer) => `${answer.orderId} ${answer.signature}`))).toEqual(new Set([`${orderId} ${signature}`]));
        const done = await finalized(orderId!, {}, gateways.at(-1));
        expectFill(world.chain, done);
        expect([...world.sent()].filter((one) => !sent.has(one))).toEqual([signature]);
      }
      expect(world.landed(publicKey)).toHaveLength(2);
      // The other transport does the same.
      await traded('buy', { publicKey, mint, amount: 0.3 }, {}, second);
      await traded('sell', { publicKey, mint, sellAll: true }, {}, second);
      await second.gateway.close();
    },
  );

  /** Asks again while the first request is running, as a client would do, only sooner. */
  async function persisted(at: TradingGateway, body: Body, asked: Asked): Promise<TradeAnswer> {
    for (;;) {
      const reply = await at.post('/trade/buy', body, asked);
      if (reply.status === 200) return reply.body as unknown as TradeAnswer;
      if (!isForTheMoment(reply))
        expect(reply).toMatchObject({ status: 409, body: { error: { code: 'IDEMPOTENCY_IN_PROGRESS', retryable: true } } });
      expect(reply.headers.get('retry-after')).toBe('1');
      await pause(againAfterMs);
    }
  }
});

/** Runs a function when the next message is sent to a node, which decides whether it passes. */
function whenSent(act: () => boolean): void {
  world.node.tampering = async ({ method, params }, answer) => {
    if (method !== 'sendTransaction') return answer();
    const signature = signatureIn(String(params[0]));
    return act() ? answer() : signature;
  };
}

describe('strangers who send coins to the wallet', () => {
  /** Somebody sends one raw unit of the coin to the wallet each time before a message of the wallet lands. */
  async function whileDusted<T>({ mint, tokenProgram: programId }: QuotedCoin, publicKey: string, run: () => Promise<T>): Promise<T> {
    const [source, destination] = [trader.publicKey, publicKey].map((owner) => deriveTokenAccount(owner, mint, programId).address);
    const authority = trader.publicKey;
    const dust = { programId, source: source!, mint, destination: destination!, authority, amount: 1n, decimals: 6 };
    whenSent(() => land(world.chain, [transferCheckedInstruction(dust)], [trader]).err === null);
    return await run().finally(() => (world.node.tampering = null));
  }

  it.each(['pump', 'pump-amm'])(
    'a sale of everything on %s lands, and leaves what arrived after its quote',
    { timeout: timeoutMs },
    async (pool) => {
      const coin = launchCoin(world.chain);
      const { mint } = coin;
      if (pool === 'pump-amm') {
        tradeOnChain(world.chain, coin, 'pump', { exact: 'baseOut', amount: everything }, anyPrice);
        moveToPool(world.chain, coin, false);
      }
      const publicKey = await world.wallet();
      await traded('buy', { publicKey, mint, amount: 1 });
      const held = tokensOf(world.chain, coin, publicKey);
      const { answer } = await whileDusted(coin, publicKey, () => traded('sell', { publicKey, mint, sellAll: true }));
      expect(answer).toMatchObject({ pool, quote: { inAmount: String(held) } });
      expect(tokensOf(world.chain, coin, publicKey)).toBeGreaterThanOrEqual(1n);
    },
  );
});

describe('a wallet with an account of wrapped SOL', () => {
  /** A coin on its pool, and what the account is before the trades and afterwards. */
  async function pooled(publicKey: string, run: (coin: QuotedCoin) => Promise<unknown>): Promise<readonly unknown[]> {
    const coin = launchCoin(world.chain);
    tradeOnChain(world.chain, coin, 'pump', { exact: 'baseOut', amount: everything }, anyPrice);
    moveToPool(world.chain, coin, false);
    const account = wrapFor(world.chain, publicKey, 10n ** 9n);
    const before = world.chain.account(account);
    await run(coin);
    return [before, world.chain.account(account)];
  }

  it('keeps it as it was, and its balance', { timeout: timeoutMs }, async () => {
    const publicKey = await world.wallet();
    const [before, after] = await pooled(publicKey, async ({ mint }) => {
      await traded('buy', { publicKey, mint, amount: 1 });
      await traded('sell', { publicKey, mint, sellAll: true });
    });
    expect(after).toEqual(before);
  });

  it('keeps what arrives before the trade lands, even if the account is new', { timeout: timeoutMs }, async () => {
    const publicKey = await world.wallet();
    const coin = launchCoin(world.chain);
    tradeOnChain(world.chain, coin, 'pump', { exact: 'baseOut', amount: everything }, anyPrice);
    moveToPool(world.chain, coin, false);
    let account = '';
    for (const [side, body, lamports] of [
      ['buy', { amount: 1 }, 10n ** 8n],
      ['sell', { sellAll: true }, 10n ** 9n],
    ] as const) {
      whenSent(() => {
        account = wrapFor(world.chain, publicKey, lamports);
        return true;
      });
      await traded(side, { publicKey, mint: coin.mint, ...body });
      world.node.tampering = null;
      expect(tokenAmount(world.chain.account(account))).toBeGreaterThanOrEqual(lamports);
    }
  });
});

describe('orders that fail or expire', () => {
  async function ended(orderId: string, status: string): Promise<OrderObject> {
    const done = await until(`${orderId} to be ${status}`, async () => {
      const now = await order(orderId);
      return now.status === status && now;
    });
    world.node.tampering = null;
    expect(done.fill).toBeNull();
    return done;
  }

  it('an order that lands and fails has the reason, and has cost only its fee', { timeout: timeoutMs }, async () => {
    const coin = launchCoin(world.chain);
    const publicKey = await world.wallet();
    const before = world.chain.account(publicKey)!.lamports;
    await gateway.post('/trade/buy', { publicKey, mint: coin.mint, amount: 1, dryRun: true });
    let moved = false;
    whenSent(() => {
      if (!moved) tradeOnChain(world.chain, coin, 'pump', { exact: 'quoteIn', amount: 20n * 10n ** 9n }, 1n);
      return (moved = true);
    });
    const { orderId, quote, signature } = await taken('buy', { publicKey, mint: coin.mint, amount: 1, slippage: 5, skipSimulation: true });
    const failed = await ended(orderId!, 'failed');
    expect(failed).toMatchObject({ signature, quote, error: { code: 'SLIPPAGE_EXCEEDED' } });
    expect(world.landed(publicKey)).toEqual([signature]);
    expect(before - world.chain.account(publicKey)!.lamports).toBe(world.chain.transaction(signature!)!.fee);
  });

  it('an order that no node forwards expires once it can no longer land', { timeout: timeoutMs }, async () => {
    const coin = launchCoin(world.chain);
    const publicKey = await world.wallet();
    whenSent(() => false);
    const { orderId, lastValidBlockHeight } = await taken('buy', { publicKey, mint: coin.mint, amount: 1 });
    while (world.chain.blockHeight <= lastValidBlockHeight! + 40) world.chain.advance();
    expect(await ended(orderId!, 'expired')).toMatchObject({ error: null });
    expect(world.landed(publicKey)).toEqual([]);
    // The chain has passed the blockhash that the gateway holds.
    await until(
      'a newer blockhash',
      async () => (await gateway.post('/trade/buy', { publicKey, mint: coin.mint, amount: 1, dryRun: true })).status === 200,
    );
  });
});

it('a buy for USDC may spend what 0.001 to 100 SOL are worth', { timeout: timeoutMs }, async () => {
  const publicKey = await world.wallet({ usdc: true });
  const { mint } = launchCoin(world.chain, { quoteMint: usdcMint });
  // Until the gateway knows the price of SOL, 101 USDC are too much.
  await until('the price of SOL', async () => (await gateway.ask('/quote', { side: 'buy', mint, amount: 101 })).status === 200);
  for (const path of ['/trade/buy', '/transaction/buy'])
    expect((await gateway.ask(path, { publicKey, mint, amount: 101, dryRun: true })).status).toBe(200);
  for (const amount of [0.000001, 1e9]) {
    const { status, body } = await gateway.ask('/trade/buy', { publicKey, mint, amount, dryRun: true });
    expect(status).toBe(400);
    expect(body['error']).toMatchObject({
      details: { fields: { amount: expect.stringMatching(/^must be worth 0\.001 to 100 SOL, .* USDC$/) } },
    });
  }
});

describe('self-custody', () => {
  const web3Wallet = Keypair.fromSeed(outsider.seed);
  const publicKey = outsider.publicKey;

  async function unsigned(side: 'buy' | 'sell', body: Body): Promise<Record<string, unknown>> {
    const { status, body: reply } = await gateway.ask(`/transaction/${side}`, { publicKey, ...body });
    expect(status, JSON.stringify(reply)).toBe(200);
    expect(Value.Errors(transactionBuyEndpoint.answer, reply)).toEqual([]);
    expect(reply).toMatchObject({ side, publicKey, mint: body['mint'] });
    return reply;
  }

  /** As an ordinary wallet signs. */
  function signed(transaction: unknown): string {
    const read = VersionedTransaction.deserialize(Buffer.from(String(transaction), 'base64'));
    expect(read.version).toBe(0);
    expect(read.message.header.numRequiredSignatures).toBe(1);
    read.sign([web3Wallet]);
    return Buffer.from(read.serialize()).toString('base64');
  }

  it.each([
    ['SOL', {}, 'pump'],
    ['USDC', { quoteMint: usdcMint }, 'pump'],
    ['SOL on its pool', {}, 'pump-amm'],
  ] as const)('unsigned, signed by web3.js, sent back, followed to its fill: %s', { timeout: timeoutMs }, async (_, parts, pool) => {
    const coin = launchCoin(world.chain, parts);
    const { mint } = coin;
    if (pool === 'pump-amm') {
      tradeOnChain(world.chain, coin, 'pump', { exact: 'baseOut', amount: everything }, anyPrice);
      moveToPool(world.chain, coin, false);
    }
    const wrapped = world.chain.account(wrapFor(world.chain, publicKey, 10n ** 9n));
    const orders = [];
    for (const [side, more] of [
      ['buy', { amount: 0.75 }],
      ['sell', { sellAll: true, skipSimulation: true }],
    ] as const) {
      const reply = await unsigned(side, { mint, ...more });
      const { quote, lastValidBlockHeight, blockhash } = reply as {
        quote: TradeAnswer['quote'];
        lastValidBlockHeight: number;
        blockhash: string;
      };
      expect(world.chain.isBlockhashValid(blockhash)).toBe(true);
      expect(lastValidBlockHeight).toBeGreaterThan(world.chain.blockHeight);
      const transaction = signed(reply['transaction']);
      // Twice at once: it is one order.
      const [sent, again] = await Promise.all([send(transaction), send(transaction)]);
      expect(again.orderId).toBe(sent.orderId);
      expect(again.signature).toBe(sent.signature);
      const done = await confirmed(sent.orderId);
      expect(done).toMatchObject({
        kind: 'sent',
        side,
        mint,
        pool,
        poolAddress: pool === 'pump' ? bondingCurveAddress(mint) : canonicalPoolAddress(mint, wrappedSolMint),
        publicKey,
        quote: null,
      });
      expectFill(world.chain, done);
      const { baseAmount, traderQuoteAmount } = done.fill!;
      expect(side === 'buy' ? [traderQuoteAmount, baseAmount] : [baseAmount, traderQuoteAmount]).toEqual([quote.inAmount, quote.outAmount]);
      orders.push(done);
    }
    expect(tokensOf(world.chain, coin, publicKey)).toBe(0n);
    expect(world.chain.account(wrapFor(world.chain, publicKey, 10n ** 9n))).toEqual(wrapped);
    for (const { orderId } of orders) await finalized(orderId);
  });

  async function send(transaction: string, more: Body = {}): Promise<SendAnswer> {
    const { status, body } = await gateway.ask('/transaction/send', { transaction, ...more });
    expect(status, JSON.stringify(body)).toBe(200);
    expect(Value.Errors(SendAnswer, body)).toEqual([]);
    expect(body).toMatchObject({ publicKey, error: null });
    return body as unknown as SendAnswer;
  }

  it('a transaction that lands and fails says what failed on the chain', { timeout: timeoutMs }, async () => {
    const { blockhash: recentBlockhash } = world.chain.latestBlockhash();
    const unknown = { programId: new PublicKey(pump.programId), keys: [], data: Buffer.alloc(8, 7) };
    const message = new TransactionMessage({ payerKey: web3Wallet.publicKey, recentBlockhash, instructions: [unknown] });
    const transaction = new VersionedTransaction(message.compileToV0Message());
    transaction.sign([web3Wallet]);
    const { orderId } = await send(Buffer.from(transaction.serialize()).toString('base64'), { skipSimulation: true });
    const failed = await until('it to fail', async () => {
      const now = await order(orderId);
      return now.status === 'failed' && now;
    });
    expect(failed.error).toMatchObject({
      code: 'SIMULATION_FAILED',
      message: 'The transaction landed and failed: pump refused the instruction at index 0 with the error 101.',
      details: { program: pump.programId, programError: 101, instructionIndex: 0 },
    });
  });

  it('a transaction that is not a trade is followed, too', { timeout: timeoutMs }, async () => {
    const { blockhash: recentBlockhash } = world.chain.latestBlockhash();
    const transfer = SystemProgram.transfer({
      fromPubkey: web3Wallet.publicKey,
      toPubkey: new PublicKey(await world.wallet()),
      lamports: 5_000_000n,
    });
    const message = new TransactionMessage({ payerKey: web3Wallet.publicKey, recentBlockhash, instructions: [transfer] });
    const transaction = new VersionedTransaction(message.compileToV0Message());
    transaction.sign([web3Wallet]);
    const { orderId, signature } = await send(Buffer.from(transaction.serialize()).toString('base64'));
    const done = await until('its end', async () => {
      const now = await order(orderId);
      return now.status === 'finalized' && now;
    });
    expect(done).toMatchObject({ kind: 'sent', signature, side: null, mint: null, fill: null, error: null });
  });
});

describe('afterwards', () => {
  it('on the channel `orders` every order has every state in order, as stored', async () => {
    const orders = await allOrders();
    expect(orders.length).toBeGreaterThan(60);
    for (const { orderId, status, version, fill } of orders) {
      const stored = await world.store.orders.events(orderId);
      const reply = await until(`all of ${orderId} on the stream`, () => {
        const events = stream.messages.flatMap(({ data }) => (data?.['orderId'] === orderId ? [data] : []));
        return events.length >= stored.length && events;
      });
      expect(reply.map((event) => [event['version'], event['status']])).toEqual(stored.map((event) => [event.version, event.state]));
      expect(reply.map((event) => event.id)).toEqual(stored.map((event) => `${orderId}:${event.version}`));
      expect(reply.at(-1)).toMatchObject({ type: 'order', status, version, fill, simulated: true });
      // If no node answered for a moment, it was unknown in between.
      const ranks = reply.flatMap((event) => (event['status'] === 'unknown' ? [] : [ranking.indexOf(String(event['status']))]));
      expect(ranks).toEqual(ranks.toSorted((a, b) => a - b));
      expect(ranks[0]).toBeGreaterThanOrEqual(0);
    }
    const seqs = stream.messages.flatMap(({ topic, seq }) => (topic?.startsWith('orders:') === true ? [seq] : []));
    expect(seqs).toEqual(seqs.map((_, i) => seqs[0]! + i));
  });

  const ranking = ['accepted', 'simulated', 'submitted', 'processed', 'confirmed', 'finalized', 'failed', 'expired'];

  /** All orders of the key, page by page. */
  async function allOrders(query = '', asked: Asked = {}): Promise<OrderObject[]> {
    const all: OrderObject[] = [];
    let before = '';
    for (;;) {
      const { status, body } = await gateway.get(`/api/trade/orders?limit=7${query}${before}`, asked);
      expect(status).toBe(200);
      expect(Value.Errors(orderPageEndpoint.answer, body)).toEqual([]);
      const { orders, next } = body as unknown as { orders: OrderObject[]; next: string | null };
      all.push(...orders);
      if (next === null) return all;
      expect(orders).toHaveLength(7);
      before = `&before=${next}`;
    }
  }

  it('pages: each order once, newest first, by state; only for their owner', async () => {
    const orders = await allOrders();
    const ids = orders.map(({ orderId }) => orderId);
    expect(new Set(ids).size).toBe(ids.length);
    // Ids begin with the time.
    expect(ids).toEqual(ids.toSorted((a, b) => (a < b ? 1 : -1)));
    expect(await allOrders('&status=finalized')).toEqual(orders.filter(({ status }) => status === 'finalized'));
    expect(await allOrders('&status=expired')).toEqual(orders.filter(({ status }) => status === 'expired'));
    expect(await allOrders('&status=accepted')).toEqual([]);
    const stranger = { key: await world.key(['trade'], await world.account('acc_stranger')) };
    expect(await allOrders('', stranger)).toEqual([]);
    const { status, body } = await gateway.get(`/trade/orders/${orders[0]!.orderId}`, stranger);
    expect([status, (body['error'] as { code: string }).code]).toEqual([404, 'NOT_FOUND']);
    expect(await gateway.get('/trade/orders', { key: await world.key(['read']) })).toMatchObject({ status: 403 });
  });
});
