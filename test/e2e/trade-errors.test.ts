import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { openSqlite } from '@sluice/gateway/store/sql/sqlite/sqlite.ts';
import { signMessage, type Keypair } from '@sluice/shared/solana/addresses/keypair.ts';
import { assembleTransaction, decodeTransaction, type Instruction } from '@sluice/shared/solana/transaction/transaction.ts';
import { usdcMint, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { programId } from '@sluice/venues/pump/curve/program.ts';
import type { QuoteObject } from '@sluice/shared/wire/rest/trading/quote.ts';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { deriveTokenAccount } from '../simnet/layout/derive.ts';
import { associatedTokenInstruction } from '../simnet/programs/token/associated-token.ts';
import { transferCheckedInstruction } from '../simnet/programs/token/token-instructions.ts';
import { signTransaction, wallet } from '../simnet/runtime/wallets.ts';
import { address, land } from '../simnet/support/test-chain.ts';
import { sluiceHere } from '../support/command-here.ts';
import { until } from '../support/gateway.ts';
import { launchCoin, maker, moveToPool, tradeOnChain, trader, type QuotedCoin } from '../support/chain/quoted-trades.ts';
import { signatureIn, startTradingWorld, type Asked, type TradingGateway, type TradingWorld } from '../support/chain/trading-world.ts';

/** Refusals of orders over HTTP; no refused order is ever sent. */
const outsider: Keypair = wallet('trading', 'nobody’s');
/** Far longer than necessary, because the machine may be busy. */
vi.setConfig({ testTimeout: 90_000 });
let world: TradingWorld;
let gateway: TradingGateway;
let coin: QuotedCoin;
/** Custodial wallets of the operator. */
let publicKey: string;
let empty: string;
let mint: string;

beforeAll(async () => {
  world = await startTradingWorld({ funded: [outsider] });
  coin = launchCoin(world.chain);
  ({ mint } = coin);
  [publicKey, empty] = [await world.wallet(), await world.wallet({ funds: 0n })];
  gateway = await (await world.gateway()).ready(publicKey, mint);
});
afterAll(() => world.close());

const sol = 10n ** 9n;
const trades = ['/trade', '/api/trade'] as const;
const unsigned = ['/transaction', '/api/transaction'] as const;
const both = [...trades, ...unsigned] as const;

/** Not while trading is to be halted: then the halt is the answer. */
let isPatient = true;

interface Refused {
  readonly status: number;
  readonly code: string;
  readonly details: unknown;
}

async function ordersOf(asked: Asked, at: TradingGateway): Promise<unknown> {
  const { status, body } = await at.get('/trade/orders', asked);
  return status === 200 ? (body['orders'] as readonly { orderId: string }[]).map(({ orderId }) => orderId) : null;
}

/** The refusal. Neither the node nor the list of orders received anything of it. */
async function refusal(path: string, body: unknown, asked: Asked = {}, at = gateway): Promise<Refused> {
  const [sent, orders] = [world.sent(), await ordersOf(asked, at)];
  const { status, headers, body: answer } = await (isPatient ? at.ask(path, body, asked) : at.post(path, body, asked));
  const error = answer['error'] as Record<string, unknown> | undefined;
  expect(Object.keys(answer).toSorted(), JSON.stringify(answer)).toEqual(['error', 'requestId']);
  expect(answer['requestId']).toBe(headers.get('x-request-id'));
  expect(error).toMatchObject({ message: expect.any(String), retryable: expect.any(Boolean) });
  if (status === 503) expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  expect(world.sent()).toEqual(sent);
  expect(await ordersOf(asked, at)).toEqual(orders);
  return { status, code: String(error?.['code']), details: error?.['details'] };
}

const wrong = (...fields: readonly string[]): Refused => ({
  status: 400,
  code: 'INVALID_REQUEST',
  details: { fields: Object.fromEntries(fields.map((name) => [name, expect.any(String)])) },
});
const buy = (more: Record<string, unknown> = {}): Record<string, unknown> => ({ publicKey, mint, amount: 1, ...more });

/** The same refusal at all these forms of the path. */
async function everywhere(forms: readonly string[], side: 'buy' | 'sell', body: unknown, expected: unknown): Promise<void> {
  for (const form of forms) expect(await refusal(`${form}/${side}`, body), `${form}/${side} ${JSON.stringify(body)}`).toEqual(expected);
}

describe('bodies', () => {
  it.each<[string, Record<string, unknown>]>([
    ['amount', { amount: 0.0009 }],
    ['amount', { amount: 100.1 }],
    ['amount', { amount: 0 }],
    ['amount', { amount: -1 }],
    ['amount', { amount: '1' }],
    ['amount', { amount: '50%' }],
    ['amount', { amount: null }],
    ['amount', { amount: 1.0000000001 }],
    ['amount', { amount: 1e30 }],
    ['amount', { amount: 100.00000000000001 }],
    ['amount', { amount: undefined }],
    ['slippage', { slippage: 0.05 }],
    ['slippage', { slippage: 51 }],
    ['slippage', { slippage: 1.234 }],
    ['slippage', { slippage: '5' }],
    ['priorityFee', { priorityFee: 0.000009 }],
    ['priorityFee', { priorityFee: 0.0101 }],
    ['priorityFee', { priorityFee: 0.0000100001 }],
    ['priorityFee', { priorityFee: 'high' }],
    ['publicKey', { publicKey: undefined }],
    ['publicKey', { publicKey: 'l'.repeat(44) }],
    ['publicKey', { publicKey: '1'.repeat(44) }],
    ['mint', { mint: undefined }],
    ['pool', { pool: 'nowhere' }],
    ['pool', { pool: 'raydium-clmm' }],
    ['maxIn', { maxIn: '1.5' }],
    ['maxIn', { maxIn: 5 }],
    ['maxIn', { maxIn: '999999999' }],
    ['minOut', { minOut: '0' }],
    ['minOut', { minOut: '18446744073709551616' }],
    ['dryRun', { dryRun: 'true' }],
    ['skipSimulation', { skipSimulation: 1 }],
    ['sellAll', { sellAll: true }],
    ['denominatedInSol', { denominatedInSol: 'true' }],
  ])('a buy with a wrong %s: %j', async (field, parts) => {
    await everywhere(both, 'buy', buy(parts), wrong(field));
  });

  it.each<[string, Record<string, unknown>]>([
    ['amount', { amount: undefined }],
    ['amount', { amount: 0 }],
    ['amount', { amount: '0%' }],
    ['amount', { amount: '101%' }],
    ['amount', { amount: '50' }],
    ['amount', { amount: 1e-7 }],
    ['amount', { amount: -1 }],
    ['slippage', { slippage: 0.05 }],
    ['slippage', { slippage: 51 }],
    ['priorityFee', { priorityFee: 0.000009 }],
    ['priorityFee', { priorityFee: 0.0101 }],
    ['sellAll', { sellAll: 'true' }],
    ['side', { side: 'sell' }],
  ])('a sell with a wrong %s: %j', async (field, parts) => {
    await everywhere(both, 'sell', buy(parts), wrong(field));
  });

  it('names every wrong field at once', async () => {
    const body = buy({ amount: 0, slippage: 0.01, priorityFee: 1, surprise: 1, more: [], dryRun: 0 });
    await everywhere(both, 'buy', body, wrong('amount', 'slippage', 'priorityFee', 'surprise', 'more', 'dryRun'));
  });

  it('text that is not a JSON object, and a body that is not declared as JSON', async () => {
    for (const form of both) {
      for (const text of ['', '{', 'null', '[]', '"buy"', '{"mint":}', '\ufeff'])
        expect(await refusal(`${form}/buy`, text), text).toMatchObject({ status: 400, code: 'INVALID_REQUEST' });
      const typed = { headers: { 'content-type': 'text/plain' } };
      expect(await refusal(`${form}/buy`, buy(), typed)).toMatchObject({ status: 415, code: 'UNSUPPORTED_MEDIA_TYPE' });
    }
  });
});

describe('wallets and keys', () => {
  const forbidden = (key: string): Refused => ({ status: 403, code: 'FORBIDDEN', details: { publicKey: key } });

  it('a wallet of another account, and an address that is not a custodial wallet', async () => {
    const [a, b] = [await world.account('acc_a'), await world.account('acc_b')];
    const walletOfA = await world.wallet({ accountId: a });
    const keys = { a: await world.key(['trade', 'read'], a), b: await world.key(['trade', 'read'], b) };
    for (const form of trades) {
      const path = `${form}/buy`;
      expect(await refusal(path, buy({ publicKey: walletOfA }), { key: keys.b })).toEqual(forbidden(walletOfA));
      expect(await refusal(path, buy({ publicKey: walletOfA }))).toEqual(forbidden(walletOfA));
      expect(await refusal(path, buy(), { key: keys.a })).toEqual(forbidden(publicKey));
      for (const dryRun of [true, false])
        expect(await refusal(path, buy({ publicKey: outsider.publicKey, dryRun }))).toEqual(forbidden(outsider.publicKey));
      expect(await refusal(`${form}/sell`, buy({ publicKey: walletOfA, amount: '50%' }), { key: keys.b })).toEqual(forbidden(walletOfA));
    }
  });

  it('more than the signing process allows, for an order or in a day: a dry run reports it too, and uses up nothing', async () => {
    const spender = await world.wallet();
    const signerLimits = { maxOrderLamports: sol, maxDayLamports: sol + sol / 10n };
    const limited = await (await world.gateway({ config: { signerLimits } })).ready(spender, mint);
    const body = buy({ publicKey: spender, amount: 0.5 });
    const beyond = (rule: string): Refused => ({ status: 403, code: 'FORBIDDEN', details: { rule } });
    for (const skipSimulation of [false, true]) {
      for (const dryRun of [true, false]) {
        const large = { ...body, amount: 1, dryRun, skipSimulation };
        expect(await refusal('/trade/buy', large, {}, limited)).toEqual(beyond('order_limit'));
      }
    }
    for (let i = 0; i < 5; i++) expect((await limited.ask('/trade/buy', { ...body, dryRun: true })).status).toBe(200);
    const bought = [];
    for (let i = 0; i < 2; i++) {
      const { status, body: reply } = await limited.ask('/trade/buy', body);
      expect(status, JSON.stringify(reply)).toBe(200);
      bought.push(String(reply['orderId']));
    }
    await Promise.all(bought.map(finalized));
    for (const dryRun of [true, false]) expect(await refusal('/trade/buy', { ...body, dryRun }, {}, limited)).toEqual(beyond('day_limit'));
    // Signed by the process of another gateway, whose audit log this gateway's process reads.
    const other = await (await world.gateway({ config: { signerLimits } })).ready(publicKey, mint);
    for (const dryRun of [true, false]) expect(await refusal('/trade/buy', { ...body, dryRun }, {}, other)).toEqual(beyond('day_limit'));
    // For orders that were signed on another machine, only the store has the sum.
    const elsewhere = await world.wallet();
    await limited.ready(elsewhere, mint);
    const db = await openSqlite(join(world.store.dataDir, 'sluice.db'));
    const spent = 'INSERT INTO order_spend (wallet, day, lamports) VALUES (?, ?, ?)';
    await db.run(spent, elsewhere, Math.floor(Date.now() / 86_400_000), Number(sol));
    await db.close();
    for (const dryRun of [true, false]) {
      const { details, ...said } = await refusal('/trade/buy', { ...body, publicKey: elsewhere, dryRun }, {}, limited);
      expect({ ...said, details }).toMatchObject({
        status: 403,
        code: 'FORBIDDEN',
        details: { limitLamports: '1100000000', spentLamports: '1000000000' },
      });
    }
  });

  it('keys without the scope, and no key', async () => {
    const [reads, sells] = [await world.key(['read', 'stream']), await world.key(['trade'])];
    for (const form of trades)
      expect(await refusal(`${form}/buy`, buy(), { key: reads })).toMatchObject({ status: 403, code: 'FORBIDDEN' });
    for (const form of unsigned)
      expect(await refusal(`${form}/buy`, buy(), { key: sells })).toMatchObject({ status: 403, code: 'FORBIDDEN' });
    for (const path of ['/transaction/send', '/api/transaction/send'])
      expect(await refusal(path, { transaction: 'AA==' }, { key: reads })).toMatchObject({ status: 403, code: 'FORBIDDEN' });
    for (const form of both)
      expect(await refusal(`${form}/sell`, buy(), { key: '' })).toMatchObject({ status: 401, code: 'UNAUTHENTICATED' });
  });
});

describe('mints', () => {
  it('addresses that are not mints, and coins that no venue trades', async () => {
    for (const none of ['', 'x', 'not base58 0OIl', '1'.repeat(44), address('nobody was ever here'), maker.publicKey]) {
      await everywhere(both, 'buy', buy({ mint: none }), { status: 400, code: 'INVALID_MINT', details: {} });
      await everywhere(both, 'sell', buy({ mint: none, amount: '50%' }), { status: 400, code: 'INVALID_MINT', details: {} });
    }
    for (const traded of [wrappedSolMint, usdcMint])
      await everywhere(both, 'buy', buy({ mint: traded }), { status: 404, code: 'NOT_FOUND', details: { reason: 'no_pool' } });
  });
});

/** What a refusal says of lamports. */
function pick(details: unknown): unknown {
  const { unit, have, need } = (details ?? {}) as Record<string, unknown>;
  return { unit, have, need };
}

describe('balances', () => {
  const short = { status: 400, code: 'INSUFFICIENT_BALANCE' };

  it('an empty wallet, and one that has less than the order needs', async () => {
    for (const form of both) {
      for (const skipSimulation of [false, true]) {
        const { details, ...said } = await refusal(`${form}/buy`, buy({ publicKey: empty, skipSimulation }));
        expect({ ...said, details }, form).toMatchObject({ ...short, details: { unit: 'lamports', have: '0' } });
        // The amount, its fees, and rent of the accounts that it creates.
        const { need } = details as { need: string };
        expect(BigInt(need)).toBeGreaterThan(sol);
        expect(BigInt(need)).toBeLessThan(sol + sol / 50n);
      }
    }
    const poor = await world.wallet({ funds: sol });
    for (const skipSimulation of [false, true]) {
      const { details, ...said } = await refusal('/trade/buy', buy({ publicKey: poor, skipSimulation }));
      expect(said).toEqual(short);
      const { have, need } = details as Record<string, string>;
      expect(BigInt(have!)).toBeLessThanOrEqual(sol);
      expect(BigInt(need!)).toBeGreaterThan(BigInt(have!));
    }
  });

  it.each(['pump', 'pump-amm'])('on %s a wallet with exactly what is needed can trade, and with a lamport less it cannot', async (pool) => {
    const traded = launchCoin(world.chain);
    if (pool === 'pump-amm') {
      tradeOnChain(world.chain, traded, 'pump', { exact: 'quoteIn', amount: 10n ** 14n }, 1n);
      moveToPool(world.chain, traded, false);
    }
    const spender = await world.wallet({ funds: 10_000_000n });
    const paper = await world.gateway({ config: { trading: 'paper' } });
    const onPaper = String((await paper.ask('/paper/wallets', {})).body['publicKey']);
    const chain = { wallet: onPaper, genesisHash: world.chain.genesisHash };
    const have = (lamports: bigint) => world.store.paper.set(chain, { lamports, reset: false, atMs: 0 });
    const common = { mint: traded.mint, priorityFee: 0.0001 };
    // The first one creates accounts. A sale must pay its fee before it returns anything.
    for (const [side, body] of [
      ['buy', { ...common, amount: 0.5 }],
      ['buy', { ...common, amount: 0.25 }],
      ['sell', { ...common, amount: '50%' }],
    ] as const) {
      const walletOf = (at: TradingGateway): string => (at === paper ? onPaper : spender);
      const asked = async (at: TradingGateway, skipSimulation: boolean): Promise<Record<string, unknown>> =>
        (await at.ask(`/trade/${side}`, { ...body, publicKey: walletOf(at), dryRun: true, skipSimulation })).body;
      const lacks = async (at: TradingGateway, skipSimulation: boolean): Promise<unknown> =>
        ((await asked(at, skipSimulation))['error'] as Record<string, unknown> | undefined)?.['details'];
      const known = (await lacks(gateway, true)) as { readonly need: string; readonly have: string };
      const need = BigInt(known.need);
      const missing = need - BigInt(known.have);
      if (missing > 1n) world.chain.airdrop(spender, missing - 1n);
      await have(need - 1n);
      const details = { unit: 'lamports', have: String(need - 1n), need: known.need };
      for (const at of [gateway, paper])
        for (const skipSimulation of [true, false])
          await until('it to lack one lamport', async () => isDeepStrictEqual(pick(await lacks(at, skipSimulation)), details));
      world.chain.airdrop(spender, 1n);
      await have(need);
      for (const at of [gateway, paper])
        for (const skipSimulation of [true, false])
          await until('it to be enough', async () => (await asked(at, skipSimulation))['status'] === 'simulated');
      // Before the live order, which moves the price.
      expect(await paper.ask(`/trade/${side}`, { ...body, publicKey: onPaper })).toMatchObject({ status: 200 });
      const { body: placed } = await gateway.ask(`/trade/${side}`, { ...body, publicKey: spender });
      await finalized(String(placed['orderId']));
    }
  });

  it('a buy for USDC by a wallet that has none', async () => {
    const dollars = launchCoin(world.chain, { quoteMint: usdcMint });
    for (const form of both) {
      for (const skipSimulation of [false, true]) {
        const body = buy({ mint: dollars.mint, amount: 25, skipSimulation });
        expect(await refusal(`${form}/buy`, body), form).toMatchObject({
          ...short,
          details: { unit: 'tokens', mint: usdcMint, symbol: 'USDC', have: '0', need: '25000000' },
        });
      }
    }
    const { body } = await gateway.post('/trade/buy', buy({ mint: dollars.mint, amount: 0.01 }));
    expect(body['error']).toMatchObject({ message: expect.stringContaining('needs 0.01 USDC, has 0.') });
  });

  it('a sell by a wallet that has none of the coin, and a sell of more than it has', async () => {
    const none = { ...short, details: { unit: 'tokens', mint, symbol: null, have: '0', need: '1', decimals: 6 } };
    await everywhere(both, 'sell', buy({ amount: '50%' }), none);
    await everywhere(both, 'sell', { publicKey, mint, sellAll: true }, none);
    for (const skipSimulation of [false, true]) {
      const { details, ...said } = await refusal('/trade/sell', buy({ amount: 5, skipSimulation }));
      expect({ ...said, details }).toMatchObject({ ...short, details: { unit: 'tokens', have: '0', need: '5000000' } });
    }
    const held = await world.wallet();
    const bought = await gateway.ask('/trade/buy', { publicKey: held, mint, amount: 0.01 });
    expect(bought.status, JSON.stringify(bought.body)).toBe(200);
    await finalized(String(bought.body['orderId']));
    for (const form of both) {
      for (const skipSimulation of [false, true]) {
        const { details, ...said } = await refusal(`${form}/sell`, { publicKey: held, mint, amount: 900_000, skipSimulation });
        const { have } = details as { have: string };
        expect({ ...said, details }).toMatchObject({ ...short, details: { unit: 'tokens', need: '900000000000' } });
        expect(BigInt(have)).toBeGreaterThan(0n);
      }
    }
  });

  it('a part of the balance that is less than one unit is too small, and nothing is missing', async () => {
    const holder = await world.wallet();
    const [source, destination] = [trader.publicKey, holder].map((owner) => deriveTokenAccount(owner, mint, coin.tokenProgram).address);
    const one = { programId: coin.tokenProgram, source: source!, mint, destination: destination!, authority: trader.publicKey, amount: 1n };
    const made = associatedTokenInstruction(trader.publicKey, holder, mint, coin.tokenProgram, true);
    expect(land(world.chain, [made, transferCheckedInstruction({ ...one, decimals: 6 })], [trader]).err).toBeNull();
    await everywhere(both, 'sell', buy({ publicKey: holder, amount: '33.3333%' }), wrong('amount'));
  });
});

describe('bounds and moving markets', () => {
  it('SLIPPAGE_EXCEEDED: a minOut above what the trade gives, and a market that moves between quote and simulation', async () => {
    for (const form of both) {
      for (const skipSimulation of [false, true]) {
        const { details, ...said } = await refusal(`${form}/buy`, buy({ minOut: '900000000000000', skipSimulation }));
        expect(said).toEqual({ status: 400, code: 'SLIPPAGE_EXCEEDED' });
        const { quoted, actual, bound, quote } = details as Record<string, string> & { readonly quote: QuoteObject };
        expect([bound, actual]).toEqual(['900000000000000', quoted]);
        expect(BigInt(actual!)).toBeGreaterThan(0n);
        // The new quote, which the same order may trade at.
        expect(quote.outAmount).toBe(actual);
        const atQuote = buy({ minOut: quote.minOut, skipSimulation, dryRun: true });
        expect((await gateway.ask(`${form}/buy`, atQuote)).status).toBe(200);
      }
    }
    for (const path of ['/trade/buy', '/transaction/buy']) {
      // The price rises by more than a third after the quote.
      whileSimulating(() => tradeOnChain(world.chain, coin, 'pump', { exact: 'quoteIn', amount: 15n * sol }, 1n));
      const { details, ...said } = await refusal(path, buy({ slippage: 5 }));
      expect(said).toEqual({ status: 400, code: 'SLIPPAGE_EXCEEDED' });
      const { quoted, actual, bound, quote } = details as Record<string, string> & { readonly quote: QuoteObject };
      expect(BigInt(actual!)).toBeLessThan(BigInt(bound!));
      expect(BigInt(bound!)).toBeLessThan(BigInt(quoted!));
      expect(BigInt(quote.minOut)).toBeLessThan(BigInt(quote.outAmount));
      expect(BigInt(quote.outAmount)).toBeLessThan(BigInt(bound!));
    }
  });

  it('a part of the balance is no more than `maxIn`, which the client took from its quote', async () => {
    const held = await world.wallet();
    await finalized(String((await gateway.ask('/trade/buy', { publicKey: held, mint, amount: 0.01 })).body['orderId']));
    const sell = async (more: object): Promise<QuoteObject> => {
      const { status, body } = await gateway.ask('/trade/sell', { publicKey: held, mint, amount: '50%', dryRun: true, ...more });
      expect(status, JSON.stringify(body)).toBe(200);
      return body['quote'] as QuoteObject;
    };
    const { inAmount } = await sell({});
    const less = String(BigInt(inAmount) / 3n);
    expect((await sell({ maxIn: less })).inAmount).toBe(less);
    expect((await sell({ maxIn: String(BigInt(inAmount) + 1n) })).inAmount).toBe(inAmount);
  });

  it('a curve that has just completed: no quote while it migrates, then its pool', async () => {
    const ending = launchCoin(world.chain);
    const body = buy({ mint: ending.mint });
    expect((await gateway.ask('/trade/buy', { ...body, dryRun: true })).body).toMatchObject({ pool: 'pump' });
    const complete = (): unknown =>
      tradeOnChain(world.chain, ending, 'pump', { exact: 'baseOut', amount: 793_100_000_000_000n }, 10n ** 14n);
    // Between quote and simulation.
    whileSimulating(complete);
    const migrating = { status: 404, code: 'NOT_FOUND', details: { reason: 'migrating' } };
    const first = await refusal('/trade/buy', body);
    // The state in memory also has some time to notice it; then the program's own error is returned.
    if (first.code === 'SIMULATION_FAILED') expect(first.details).toMatchObject({ programError: 6_005 });
    else expect(first).toEqual(migrating);
    await until('the end of the curve', async () => (await refusal('/trade/buy', body)).code === 'NOT_FOUND');
    await everywhere(both, 'buy', body, migrating);
    expect(await refusal('/trade/buy', { ...body, pool: 'pump' })).toEqual(wrong('pool'));
    expect(await refusal('/trade/buy', { ...body, pool: 'pump-amm' })).toMatchObject({ status: 404, details: { reason: 'no_pool' } });
    moveToPool(world.chain, ending, false);
    const pooled = await until('the pool', async () => {
      const answer = await gateway.post('/trade/buy', { ...body, dryRun: true });
      return answer.status === 200 && answer.body;
    });
    expect(pooled).toMatchObject({ pool: 'pump-amm', status: 'simulated', dryRun: true, signature: null, orderId: null });
  });

  it('SIMULATION_FAILED: with program, its error and the last lines', async () => {
    const garbled = { programId, accounts: [], data: Uint8Array.from({ length: 8 }, () => 7) };
    const failing = signedBy(outsider, world.chain.latestBlockhash().blockhash, garbled);
    for (const path of ['/transaction/send', '/api/transaction/send']) {
      const { details, ...said } = await refusal(path, { transaction: failing });
      expect(said).toEqual({ status: 400, code: 'SIMULATION_FAILED' });
      expect(details).toMatchObject({ program: programId, programError: 101, instructionIndex: 0 });
      expect((details as { logs: string[] }).logs.at(-1)).toBe(`Program ${programId} failed: custom program error: 0x65`);
    }
  });

  it('TRANSACTION_EXPIRED: with a blockhash that no node knows, and with one of sluice that has expired', async () => {
    const expired = { status: 400, code: 'TRANSACTION_EXPIRED' };
    const stale = signedBy(outsider, address('a blockhash of no block'), { programId, accounts: [], data: new Uint8Array(8) });
    expect(await refusal('/transaction/send', { transaction: stale })).toMatchObject(expired);
    const transaction = await signedBuy();
    const { recentBlockhash } = decodeTransaction(Buffer.from(transaction, 'base64')) as { recentBlockhash: string };
    await until('it to expire', () => !world.chain.isBlockhashValid(recentBlockhash), 60_000);
    const height = world.chain.blockHeight;
    await until('the gateway to know', async () => {
      const { body } = await gateway.ask('/transaction/buy', buy({ publicKey: outsider.publicKey }));
      return Number(body['lastValidBlockHeight']) - 150 > height;
    });
    for (const skipSimulation of [false, true])
      expect(await refusal('/transaction/send', { transaction, skipSimulation })).toMatchObject(expired);
  });
});

describe('transactions that a client sends back', () => {
  it('unsigned, signed by another wallet, cut, or not base64', async () => {
    const { body } = await gateway.ask('/transaction/buy', buy({ publicKey: outsider.publicKey }));
    const wire = Buffer.from(String(body['transaction']), 'base64');
    const forged = Buffer.from(wire);
    forged.fill(1, 1, 65);
    for (const bytes of [wire, forged, wire.subarray(0, -1), Buffer.from('hello')])
      expect(await refusal('/transaction/send', { transaction: bytes.toString('base64') })).toEqual(wrong('transaction'));
    for (const transaction of ['', '!', 5, undefined])
      expect(await refusal('/transaction/send', { transaction })).toEqual(wrong('transaction'));
    const signed = signedBy(outsider, world.chain.latestBlockhash().blockhash, { programId, accounts: [], data: new Uint8Array(8) });
    expect(await refusal('/transaction/send', { transaction: signed, tip: 1 })).toEqual(wrong('tip'));
  });
});

describe('the kill switch', () => {
  const stopped = { status: 503, code: 'TRADING_HALTED', details: {} };
  beforeAll(() => void (isPatient = false));
  afterAll(() => void (isPatient = true));

  it('TRADING_HALTED: within a second, for everything that sends; quotes and unsigned transactions continue', async () => {
    const signed = await signedBuy();
    const body = buy();
    await world.store.halt.set(true, 'a test', Date.now());
    try {
      // A sale of nothing: the gateway itself has noticed the halt, and not only the signing process.
      await until('the halt', async () => (await gateway.post('/trade/sell', { ...body, amount: '50%', dryRun: true })).status === 503);
      await everywhere(trades, 'buy', body, stopped);
      await everywhere(trades, 'sell', { ...body, amount: '50%' }, stopped);
      expect(await refusal('/transaction/send', { transaction: signed })).toEqual(stopped);
      for (const form of unsigned) expect((await gateway.post(`${form}/buy`, body)).status).toBe(200);
    } finally {
      await resume();
    }
  });

  it('a halt whose command reaches no store: the mark on the disk stops everything that sends', async () => {
    const signed = await signedBuy();
    const folder = world.store.dataDir;
    const env = { DATA_DIR: folder };
    const withoutStore = { folder, env: { ...env, DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' } };
    try {
      expect(await sluiceHere(['trading', 'halt'], withoutStore)).toMatchObject({
        code: 3,
        stderr: expect.stringContaining('other machines'),
      });
      await everywhere(trades, 'buy', buy(), stopped);
      expect(await refusal('/transaction/send', { transaction: signed })).toEqual(stopped);
    } finally {
      expect(await sluiceHere(['trading', 'resume'], { folder, env })).toMatchObject({ code: 0 });
      await resume();
    }
  });

  it('a halt that comes while an order is simulated', async () => {
    whileSimulating(async () => {
      await world.store.halt.set(true, 'a test', Date.now());
      await until('the halt', async () => (await gateway.post('/trade/buy', { ...buy(), dryRun: true })).status === 503);
    });
    try {
      expect(await refusal('/trade/buy', buy())).toEqual(stopped);
      expect(world.node.tampering).toBeNull();
    } finally {
      await resume();
    }
  });

  it('a sent order is not sent again during a halt, but followed; sending continues afterwards, and the order ends as on the chain', async () => {
    const order = async (id: unknown): Promise<Record<string, unknown>> => (await gateway.get(`/trade/orders/${String(id)}`)).body;
    // Accepts messages, confirms them, and does nothing with them.
    const swallow = async (): Promise<void> => {
      world.node.tampering = async ({ method, params }, answer) =>
        method === 'sendTransaction' ? signatureIn(String(params[0])) : await answer();
    };
    const buyUnheard = async (): Promise<Record<string, unknown>> => {
      await swallow();
      const { status, body } = await gateway.ask('/trade/buy', buy({ amount: 0.01 }));
      expect(status, JSON.stringify(body)).toBe(200);
      return body;
    };
    const halt = async (): Promise<void> => {
      await world.store.halt.set(true, 'a test', Date.now());
      await until('the halt', async () => (await gateway.post('/trade/buy', { ...buy(), dryRun: true })).status === 503);
      world.node.tampering = null;
    };
    const calls = (): number => world.node.count('sendTransaction');
    try {
      const first = await buyUnheard();
      await halt();
      const [sent, height] = [calls(), world.chain.blockHeight];
      await until('several rounds', () => world.chain.blockHeight > height + 50);
      expect(calls()).toBe(sent);
      await resume();
      await finalized(String(first['orderId']));
      expect(world.landed(publicKey)).toContain(first['signature']);

      const second = await buyUnheard();
      await halt();
      const callsBefore = calls();
      // A gateway that starts during the halt claims what is open, and sends nothing either.
      const other = await world.gateway();
      await until('it to expire', async () => (await order(second['orderId']))['status'] === 'expired', 30_000);
      expect(calls()).toBe(callsBefore);
      await other.gateway.close();
      expect(world.landed(publicKey)).not.toContain(second['signature']);
    } finally {
      world.node.tampering = null;
      await resume();
    }
  });

  it('TRADING=off: nothing is traded, signed or sent; quotes and unsigned transactions are available', async () => {
    const off = await world.gateway({ config: { trading: 'off' } });
    await until('its chain', async () => (await off.post('/transaction/buy', buy())).status === 200);
    for (const form of trades) {
      expect(await refusal(`${form}/buy`, buy(), {}, off)).toEqual(stopped);
      expect(await refusal(`${form}/sell`, buy({ amount: '50%' }), {}, off)).toEqual(stopped);
    }
    expect(await refusal('/transaction/send', { transaction: await signedBuy() }, {}, off)).toEqual(stopped);
    await off.gateway.close();
  });
});

describe('Idempotency-Key', () => {
  it('IDEMPOTENCY_IN_PROGRESS while the first request is running, IDEMPOTENCY_MISMATCH for another request', async () => {
    const asked = { idempotencyKey: 'under-way' };
    let during: readonly Refused[] = [];
    whileSimulating(async () => {
      during = [await refusal('/trade/buy', buy({ amount: 0.01 }), asked), await refusal('/api/trade/buy', buy({ amount: 0.02 }), asked)];
    });
    const first = await gateway.post('/trade/buy', buy({ amount: 0.01 }), asked);
    expect(first).toMatchObject({ status: 200, body: { status: 'submitted' } });
    expect(during).toEqual([
      { status: 409, code: 'IDEMPOTENCY_IN_PROGRESS', details: {} },
      { status: 422, code: 'IDEMPOTENCY_MISMATCH', details: {} },
    ]);
    expect(await refusal('/trade/buy', buy({ amount: 0.02 }), asked)).toMatchObject({ status: 422, code: 'IDEMPOTENCY_MISMATCH' });
    // The same body at another endpoint is another request.
    expect(await refusal('/trade/sell', buy({ amount: 0.01 }), asked)).toMatchObject({ status: 422, code: 'IDEMPOTENCY_MISMATCH' });
  });

  it('the same order again, at either form of the path, after its end, and from a gateway that has restarted', async () => {
    const asked = { idempotencyKey: '"again-1"' };
    const body = buy({ amount: 0.01, slippage: 20 });
    const first = await gateway.ask('/trade/buy', body, asked);
    expect(first.status, JSON.stringify(first.body)).toBe(200);
    expect(first.headers.get('idempotency-replayed')).toBeNull();
    const { orderId, signature } = first.body;
    const sent = world.sent();
    const again = async (at: TradingGateway, path: string, idempotencyKey: string): Promise<unknown> => {
      const { status, headers, body: reply } = await at.ask(path, { slippage: 20, ...body }, { idempotencyKey });
      expect([status, headers.get('idempotency-replayed')]).toEqual([200, 'true']);
      expect(reply).toMatchObject({ orderId, signature, quote: first.body['quote'] });
      return reply['status'];
    };
    await again(gateway, '/api/trade/buy', 'again-1');
    await finalized(String(orderId));
    expect(await again(gateway, '/trade/buy', 'again-1')).toBe('finalized');
    const restarted = await world.gateway();
    expect(await again(restarted, '/trade/buy', 'again-1')).toBe('finalized');
    expect(await refusal('/trade/buy', buy({ amount: 0.02 }), asked, restarted)).toMatchObject({
      status: 422,
      code: 'IDEMPOTENCY_MISMATCH',
    });
    await restarted.gateway.close();
    expect(world.sent()).toEqual(sent);
  });

  it('with bytes above 0x7F is refused where they can be seen, and never returns the order of another body', async () => {
    const other = await world.gateway({ transport: 'node' });
    for (const [idempotencyKey, at] of [
      ['"\u00e9-ascii"', gateway],
      ['a\u00e9b', gateway],
      ['\u00e9', gateway],
      ['\u00e9-ascii', other],
      ['ascii-\u00e9', other],
    ] as const)
      expect(await refusal('/trade/buy', buy({ amount: 0.01 }), { idempotencyKey }, at), idempotencyKey).toEqual(wrong('Idempotency-Key'));
    await other.gateway.close();
    // The parser of uWebSockets.js hides these bytes, so both keys are `-ascii`.
    const first = await gateway.ask('/trade/buy', buy({ amount: 0.01 }), { idempotencyKey: '\u00e9-ascii' });
    expect(first.status, JSON.stringify(first.body)).toBe(200);
    const second = { idempotencyKey: '\u00fc-ascii' };
    for (const [path, body] of [
      ['/trade/buy', buy({ amount: 0.02 })],
      ['/trade/sell', buy({ amount: 0.01 })],
    ] as const)
      expect(await refusal(path, body, second)).toMatchObject({ status: 422, code: 'IDEMPOTENCY_MISMATCH' });
  });

  it('belongs to its owner and its endpoint, and is not stored for a refusal', async () => {
    const asked = { idempotencyKey: 'refused-first' };
    expect(await refusal('/trade/buy', buy({ minOut: '900000000000000' }), asked)).toMatchObject({ code: 'SLIPPAGE_EXCEEDED' });
    expect((await gateway.ask('/trade/buy', buy({ amount: 0.01 }), asked)).status).toBe(200);
    const other = await world.key(['trade'], 'acc_a');
    const owned = await world.wallet({ accountId: 'acc_a' });
    const theirs = await gateway.ask('/trade/buy', buy({ publicKey: owned, amount: 0.01 }), { ...asked, key: other });
    expect(theirs).toMatchObject({ status: 200, body: { status: 'submitted' } });
    for (const idempotencyKey of ['', 'with space', 'ü', 'x'.repeat(256)])
      expect(await refusal('/trade/buy', buy(), { idempotencyKey }), idempotencyKey).toEqual(wrong('Idempotency-Key'));
  });
});

async function resume(): Promise<void> {
  await world.store.halt.set(false, null, Date.now());
  await until('the end of the halt', async () => (await gateway.post('/trade/buy', buy({ dryRun: true }))).status === 200);
}

function signedBy(by: Keypair, recentBlockhash: string, instruction: Instruction): string {
  const wire = signTransaction({ version: 0, recentBlockhash, instructions: [instruction], signers: [by] });
  return Buffer.from(wire).toString('base64');
}

/** A purchase of the outsider that only has to be sent. */
async function signedBuy(): Promise<string> {
  const { body } = await gateway.ask('/transaction/buy', buy({ publicKey: outsider.publicKey }));
  const decoded = decodeTransaction(Buffer.from(String(body['transaction']), 'base64'));
  if (decoded.kind === 'malformed') throw new Error(decoded.reason);
  const { messageBytes } = decoded;
  return Buffer.from(assembleTransaction(messageBytes, [signMessage(outsider, messageBytes)])).toString('base64');
}

/** Runs a function after the next order was quoted and before it is simulated. */
function whileSimulating(act: () => unknown): void {
  world.node.tampering = async ({ method }, answer) => {
    if (method === 'simulateTransaction') {
      world.node.tampering = null;
      await act();
    }
    return answer();
  };
}

async function finalized(orderId: string): Promise<void> {
  await until('the order to be final', async () => (await gateway.get(`/trade/orders/${orderId}`)).body['status'] === 'finalized');
}
