import { Value } from 'typebox/value';
import { usdcMint, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { canonicalPoolAddress } from '@sluice/venues/pump/amm/program.ts';
import { bondingCurveAddress } from '@sluice/venues/pump/curve/program.ts';
import { marketTtlMs } from '@sluice/trading/quote/markets.ts';
import { QuoteAnswer } from '@sluice/shared/wire/rest/trading/quote.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { NewCoin } from '../simnet/market/instructions.ts';
import type { SimChain } from '../simnet/sim-chain.ts';
import { startSimnet, type Simnet } from '../simnet/simnet.ts';
import { address } from '../simnet/support/test-chain.ts';
import { startTestGateway, until, type TestGateway } from '../support/gateway.ts';
import {
  launchCoin,
  maker,
  moveToPool,
  tokensOf,
  tradedChain,
  tradeIn,
  tradeOnChain,
  trader,
  type QuotedCoin,
} from '../support/chain/quoted-trades.ts';

/** `POST /quote` through a real gateway and a simulated node; then the trade, which does exactly what was quoted. */
const timeoutMs = 60_000;
const key = 'sluice_quotes_read';

let chain: SimChain;
let simnet: Simnet;
let gateway: TestGateway;
beforeAll(async () => {
  chain = tradedChain();
  simnet = await startSimnet({ chain, autoStart: false });
  gateway = await startTestGateway({ config: { rpc: { httpUrls: [simnet.rpcUrl], wsUrls: [simnet.wsUrl] } } });
  gateway.keys.add(key, { scopes: ['read'] });
}, timeoutMs);
afterAll(async () => {
  await gateway.close();
  await simnet.close();
});

interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

async function ask(body: unknown, path = '/quote', authorization = `Bearer ${key}`): Promise<Answered> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const headers = { 'content-type': 'application/json', ...(authorization === '' ? {} : { authorization }) };
  const answer = await fetch(`http://${gateway.host}${path}`, { method: 'POST', headers, body: text });
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Record<string, unknown> };
}

/** An answer about the current chain, not about an earlier moment. */
async function fresh(body: Record<string, unknown>): Promise<QuoteAnswer> {
  return until('a quote of the newest slot', async () => {
    const { status, body: quoted } = await ask(body);
    if (status !== 200) throw new Error(JSON.stringify(quoted));
    return (quoted['slot'] as number) >= chain.slot && (quoted as unknown as QuoteAnswer);
  });
}

async function refusal(body: unknown): Promise<{ status: number; code: unknown; details: unknown }> {
  const { status, body: answered } = await ask(body);
  const error = answered['error'] as Record<string, unknown>;
  return { status, code: error['code'], details: error['details'] };
}

const wrong = (fields: Record<string, unknown>): unknown => ({ status: 400, code: 'INVALID_REQUEST', details: { fields } });

function expectTraded(answer: QuoteAnswer, coin: QuotedCoin, amount: bigint): void {
  expect(Value.Errors(QuoteAnswer, answer)).toEqual([]);
  const { quote, side, pool } = answer;
  const exact = side === 'buy' ? 'quoteIn' : 'baseIn';
  const record = tradeOnChain(chain, coin, pool as 'pump' | 'pump-amm', { exact, amount }, BigInt(quote.minOut));
  expect(record.err, record.logs.join('\n')).toBeNull();
  const trade = tradeIn(record);
  const paid = side === 'buy' ? trade.quoteAmount + trade.fees.total : trade.quoteAmount - trade.fees.total;
  const [given, gotten] = side === 'buy' ? [paid, trade.baseAmount] : [trade.baseAmount, paid];
  expect([quote.inAmount, quote.outAmount, quote.feeTotal]).toEqual([given, gotten, trade.fees.total].map(String));
  const { total: _, ...byKind } = trade.fees;
  const charged = Object.entries(byKind).flatMap(([kind, fee]) =>
    fee.amount === 0n && fee.bps === 0 ? [] : [{ kind, amount: String(fee.amount), bps: fee.bps, mint: answer.quoteMint }],
  );
  expect(quote.fees).toEqual(charged);
}

const kinds: readonly (readonly [string, Partial<NewCoin>])[] = [
  ['an ordinary coin', {}],
  ['a mayhem coin', { mayhem: true }],
  ['a cashback coin', { cashback: true }],
  ['a holder-reward coin', { holderReward: true }],
  ['a coin with its own creator fee', { creatorFeeBps: 150n }],
  ['a coin against USDC', { quoteMint: usdcMint }],
];

describe('a trade does exactly what was quoted', { timeout: timeoutMs }, () => {
  it.each(kinds)('%s: on its curve, and automatically on the pool that it migrated to', async (_, parts) => {
    const coin = launchCoin(chain, parts);
    const { mint, quoteMint } = coin;
    const unit = quoteMint === usdcMint ? 10n ** 6n : 10n ** 9n;
    const bought = await fresh({ side: 'buy', mint, amount: 1.25 });
    expect(bought).toMatchObject({
      side: 'buy',
      mint,
      pool: 'pump',
      poolAddress: bondingCurveAddress(mint),
      quoteMint,
      completesCurve: false,
      cut: false,
    });
    expectTraded(bought, coin, (unit * 125n) / 100n);
    const half = await fresh({ side: 'sell', mint, amount: '50%', publicKey: trader.publicKey, slippage: 0.5 });
    expect(half.quote.inAmount).toBe(String(tokensOf(chain, coin) / 2n));
    expectTraded(half, coin, tokensOf(chain, coin) / 2n);

    tradeOnChain(chain, coin, 'pump', { exact: 'baseOut', amount: 793_100_000_000_000n }, 10n ** 14n);
    await until('the end of the curve', async () => (await ask({ side: 'buy', mint, amount: 1 })).status === 404);
    expect(await refusal({ side: 'buy', mint, amount: 1 })).toMatchObject({
      status: 404,
      code: 'NOT_FOUND',
      details: { reason: 'migrating' },
    });
    moveToPool(chain, coin, true);
    await until('the pool', async () => (await ask({ side: 'buy', mint, amount: 1 })).status === 200);
    const pooled = await fresh({ side: 'buy', mint, amount: 2.5 });
    expect(pooled).toMatchObject({ pool: 'pump-amm', poolAddress: canonicalPoolAddress(mint, quoteMint), quoteMint, completesCurve: null });
    expectTraded(pooled, coin, (unit * 25n) / 10n);
    const all = await fresh({ side: 'sell', mint, sellAll: true, publicKey: trader.publicKey, slippage: 50 });
    expectTraded(all, coin, tokensOf(chain, coin));
    expect(tokensOf(chain, coin)).toBe(0n);
    expect(await refusal({ side: 'sell', mint, amount: '10%', publicKey: trader.publicKey })).toEqual({
      status: 400,
      code: 'INSUFFICIENT_BALANCE',
      details: { unit: 'tokens', mint, symbol: null, have: '0', need: '1', decimals: 6 },
    });
    expect(await refusal({ side: 'buy', mint, amount: 1, pool: 'pump' })).toMatchObject(
      wrong({ pool: expect.stringContaining('complete') }) as object,
    );
  });

  it('the buy that completes a curve is reduced to the rest, and the quote reports that', async () => {
    const coin = launchCoin(chain);
    tradeOnChain(chain, coin, 'pump', { exact: 'quoteIn', amount: 80n * 10n ** 9n }, 1n);
    const last = await fresh({ side: 'buy', mint: coin.mint, amount: 50 });
    expect(last).toMatchObject({ cut: true, completesCurve: true });
    expect(BigInt(last.quote.inAmount)).toBeLessThan(10n * 10n ** 9n);
    expect(last.quote).toMatchObject({ maxIn: '50000000000', inDecimals: 9, outDecimals: 6 });
    expectTraded(last, coin, 50n * 10n ** 9n);
  });

  it('UI numbers appear next to the raw ones, and bounds follow the slippage', async () => {
    const { mint } = launchCoin(chain);
    const { quote, slot, ageMs, feesSlot, feesAgeMs } = await fresh({ side: 'buy', mint, amount: 0.1, slippage: 2.5 });
    expect(quote.inUiAmount).toBe(0.1);
    expect(quote.maxIn).toBe('100000000');
    const out = BigInt(quote.outAmount);
    expect(BigInt(quote.minOut)).toBe((out * 9_750n + 9_999n) / 10_000n);
    expect(quote.price).toBeCloseTo(0.1 / quote.outUiAmount, 12);
    expect(quote.priceImpactPct).toBeGreaterThan(0.3);
    expect(quote.priceImpactPct).toBeLessThan(0.4);
    expect(quote.feeTotalUi).toBeCloseTo(Number(quote.feeTotal) / 1e9, 12);
    expect(slot).toBe(chain.slot);
    expect(ageMs).toBeLessThan(30_000);
    expect(feesSlot).toBeLessThanOrEqual(slot);
    expect(feesAgeMs).toBeLessThan(60_000);
    const usual = await fresh({ side: 'buy', mint, amount: 0.1 });
    expect(BigInt(usual.quote.minOut)).toBe((BigInt(usual.quote.outAmount) * 9n + 9n) / 10n);
  });
});

describe('both forms of the path, and permissions', () => {
  it('/quote and /api/quote answer in the same way; without a key or the scope they refuse', async () => {
    const { mint } = launchCoin(chain);
    const body = { side: 'buy', mint, amount: 1 };
    await fresh(body);
    for (const path of ['/quote', '/api/quote']) {
      expect(await ask(body, path)).toMatchObject({ status: 200, body: { side: 'buy', mint } });
      expect(await ask(body, path, '')).toMatchObject({ status: 401, body: { error: { code: 'UNAUTHENTICATED' } } });
      gateway.keys.add('sluice_quotes_stream', { scopes: ['stream', 'trade'] });
      expect(await ask(body, path, 'Bearer sluice_quotes_stream')).toMatchObject({ status: 403, body: { error: { code: 'FORBIDDEN' } } });
    }
  });
});

describe('refusals', () => {
  it('amounts: every one that does not have the documented form', async () => {
    const { mint } = launchCoin(chain);
    const buy = (amount: unknown): Promise<unknown> => refusal({ side: 'buy', mint, amount });
    const sell = (amount: unknown): Promise<unknown> => refusal({ side: 'sell', mint, amount, publicKey: trader.publicKey });
    const amountFault = { status: 400, code: 'INVALID_REQUEST', details: { fields: { amount: expect.any(String) } } };
    for (const amount of [1e-9, 0.0009, 100.1, 0, -1, 1e21, '50%', 'NaN', '1', 0.0010000001])
      expect(await buy(amount), String(amount)).toEqual(amountFault);
    for (const amount of [1e-9, 1e-7, 1e21, 1e300, 0, -1, '50%%', '0%', '101%', '-5%', 'NaN', 'all', '50', '٥٠%', '5e1%']) {
      expect(await sell(amount), String(amount)).toEqual(amountFault);
    }
    for (const amount of [null, true, [], {}, [50]])
      expect(await buy(amount), JSON.stringify(amount)).toMatchObject({ status: 400, code: 'INVALID_REQUEST' });
    for (const raw of ['NaN', 'Infinity', '1e999', '0x10', '.5', '1.', '+1', '"\\ud800"']) {
      expect(await refusal(`{"side":"sell","mint":"${mint}","amount":${raw}}`), raw).toMatchObject({
        status: 400,
        code: 'INVALID_REQUEST',
      });
    }
    expect(await refusal({ side: 'sell', mint, amount: 1e-6 })).toEqual(wrong({ amount: expect.stringContaining('would give nothing') }));
    expect(await refusal({ side: 'sell', mint, amount: 1e12 })).toEqual(wrong({ amount: expect.stringContaining('more than the pool') }));
    expect((await ask({ side: 'buy', mint, amount: 0.001 })).status).toBe(200);
    expect((await ask({ side: 'buy', mint, amount: 100 })).status).toBe(200);
    expect((await ask({ side: 'buy', mint, amount: 1.000000001 })).status).toBe(200);
  });

  it('fields: unknown ones, wrong ones, and impossible combinations, all named', async () => {
    const { mint } = launchCoin(chain);
    const buy = { side: 'buy', mint, amount: 1 };
    expect(await refusal({ ...buy, minOut: '5' })).toMatchObject(wrong({ minOut: expect.any(String) }) as object);
    expect(await refusal({ ...buy, slippage: 0.05 })).toMatchObject(wrong({ slippage: expect.any(String) }) as object);
    expect(await refusal({ ...buy, slippage: 51 })).toMatchObject(wrong({ slippage: expect.any(String) }) as object);
    expect(await refusal({ ...buy, slippage: 1.234 })).toEqual(wrong({ slippage: 'has more than two decimals' }));
    expect(await refusal({ ...buy, pool: 'nowhere' })).toMatchObject(wrong({ pool: expect.any(String) }) as object);
    expect(await refusal({ ...buy, side: 'hold' })).toMatchObject(wrong({ side: expect.any(String) }) as object);
    expect(await refusal({ ...buy, sellAll: true })).toEqual(wrong({ sellAll: 'is for a sell' }));
    expect(await refusal({ side: 'buy', mint })).toEqual(wrong({ amount: 'is required' }));
    expect(await refusal({ side: 'sell', mint, amount: '5%' })).toEqual(wrong({ publicKey: 'is needed for a percentage' }));
    expect(await refusal({ side: 'sell', mint, sellAll: true })).toEqual(wrong({ publicKey: 'is needed for `sellAll`' }));
    expect(await refusal({ side: 'sell', mint, sellAll: true, amount: 1, publicKey: trader.publicKey })).toEqual(
      wrong({ amount: 'must be left out with `sellAll`' }),
    );
    expect(await refusal({ ...buy, publicKey: 'l'.repeat(40) })).toMatchObject({ status: 400, code: 'INVALID_REQUEST' });
    expect(await refusal({ ...buy, publicKey: '1'.repeat(44) })).toEqual(wrong({ publicKey: 'is not an address' }));
    expect(await refusal({ amount: 0, slippage: 2.345, side: 'buy', mint })).toEqual(
      wrong({ amount: expect.any(String), slippage: expect.any(String) }),
    );
    expect(await refusal({ ...buy, pool: 'pump-amm' })).toMatchObject({ status: 404, details: { reason: 'no_pool' } });
  });

  it('text that is not a mint, and coins that no venue trades', async () => {
    const buy = (mint: string): Promise<unknown> => refusal({ side: 'buy', mint, amount: 1 });
    for (const mint of ['', 'x', 'not base58 0OIl', '1'.repeat(44), address('nobody was ever here'), maker.publicKey]) {
      expect(await buy(mint), mint).toEqual({ status: 400, code: 'INVALID_MINT', details: {} });
    }
    expect(await buy(wrappedSolMint)).toMatchObject({ status: 404, code: 'NOT_FOUND', details: { reason: 'no_pool' } });
    expect(await refusal({ side: 'buy', mint: 'a'.repeat(65), amount: 1 })).toMatchObject({ status: 400 });
  });

  it('without a node there is no quote', async () => {
    const alone = await startTestGateway();
    try {
      alone.keys.add(key, { scopes: ['read'] });
      const answer = await fetch(`http://${alone.host}/quote`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ side: 'buy', mint: usdcMint, amount: 1 }),
      });
      expect(answer.status).toBe(503);
      expect(answer.headers.get('retry-after')).toBe('1');
      expect(await answer.json()).toMatchObject({ error: { code: 'UPSTREAM_UNAVAILABLE', retryable: true } });
    } finally {
      await alone.close();
    }
  });
});

it('five hundred callers of a coin that is not in memory cost the node one call', { timeout: timeoutMs }, async () => {
  const { mint } = launchCoin(chain);
  await ask({ side: 'buy', mint: launchCoin(chain).mint, amount: 1 });
  const [before, startedMs] = [simnet.stats().requests, performance.now()];
  const answers = await Promise.all(Array.from({ length: 500 }, () => ask({ side: 'buy', mint, amount: 1 })));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  const slots = new Set(answers.map(({ body }) => body['slot']));
  // One read, and one more each time that the market expired while the five hundred were answered.
  expect(simnet.stats().requests - before).toBeLessThanOrEqual(1 + Math.ceil((performance.now() - startedMs) / marketTtlMs));
  expect(slots.size).toBe(1);
});
