import { Value } from 'typebox/value';
import { signMessage } from '@sluice/shared/solana/addresses/keypair.ts';
import { assembleTransaction, decodeTransaction } from '@sluice/shared/solana/transaction/transaction.ts';
import { token2022Program, tokenProgram, usdcMint, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import type { KnownPool } from '@sluice/shared/market/pools/pool-directory.ts';
import { OrderObject, TradeAnswer } from '@sluice/shared/wire/rest/trading/trade.ts';
import type { QuotedTrade } from '@sluice/venues/seam/quoting.ts';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import * as damm from '../../venues/src/meteora/damm-v2/program.ts';
import * as dbc from '../../venues/src/meteora/dbc/program.ts';
import { programId as launchLabProgram } from '../../venues/src/raydium/launchlab/program.ts';
import * as amm from '../../venues/src/raydium/amm/program.ts';
import * as cpmm from '../../venues/src/raydium/cpmm/program.ts';
import { fixturesNote, fixturesPresent } from '../golden/fixtures.ts';
import { sendTrade, simulated, type SentTrade } from '../orders/built-trades.ts';
import type { ChainAccount } from '../simnet/chain.ts';
import { mintData } from '../simnet/layout/token-state.ts';
import { minimumBalance } from '../simnet/ledger/rent.ts';
import { wallet } from '../simnet/runtime/wallets.ts';
import { land } from '../simnet/support/test-chain.ts';
import { expectFill } from '../support/chain/expect-fill.ts';
import { bonk, curveAccounts, swapIn } from '../support/chain/launchlab-curves.ts';
import { executeWith, missingPrograms } from '../support/chain/machine-chain.ts';
import { maker, tokensOf, type QuotedCoin } from '../support/chain/quoted-trades.ts';
import { startTradingWorld, type TradingGateway, type TradingWorld } from '../support/chain/trading-world.ts';
import { ammPool, cpmmPool, dammPool, dbcConfig, dbcLaunch, type OpenedPool, type Terms } from '../support/chain/venue-pools.ts';
import { until } from '../support/gateway.ts';

/**
 * Orders from the HTTP request to the fill that is read from the landed transaction, on pools of the real programs: a gateway with its signing process
 * and ingest, at a node that runs the programs of `PROGRAMS_DIR` in the real virtual machine. The node, its blocks and its accounts are simulated, and so
 * are the steps by which pools were opened: the accounts of CPMM, AMM v4 and DAMM v2 are written. Coins of DBC are launched by its program.
 */
const programs = [cpmm, amm, damm, dbc].map(({ programId }) => programId);
const missing = missingPrograms(programs);
const isPresent = missing.length === 0 && fixturesPresent;
const note = missing.length > 0 ? `SKIPPED: PROGRAMS_DIR lacks ${missing.join(', ')}` : fixturesNote;
vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 });

/** Makes the first trade of each pool, so that its event names the pool. */
const buyer = wallet('built', 'buyer');
const outsider = wallet('trading', 'outsider of the venues');
const launched = wallet('venue pools', 'launched');
const config = wallet('venue pools', 'config').publicKey;
const sol = 10n ** 9n;

interface Coin extends QuotedCoin {
  readonly known: readonly KnownPool[];
}

function coinOf({ mint, pool }: OpenedPool, { quoteMint, withheldBps }: Terms, venue: KnownPool['venue']): Coin {
  const program = withheldBps === null ? tokenProgram : token2022Program;
  return { mint, quoteMint, mayhem: false, tokenProgram: program, known: [{ venue, address: pool, quoteMint, depthSol: 1, slot: 1 }] };
}

const openings = { 'raydium-cpmm': cpmmPool, 'raydium-amm': ammPool, 'meteora-damm-v2': dammPool } as const;
const genesis: (readonly [string, ChainAccount])[] = [];

function opened(venue: keyof typeof openings, terms: Terms): Coin {
  const pool = openings[venue](terms);
  genesis.push(...pool.accounts);
  return coinOf(pool, terms, venue);
}

const kinds = (
  [
    ['raydium-cpmm', 'against SOL', { quoteMint: wrappedSolMint, isFirst: true, withheldBps: null }],
    [
      'raydium-cpmm',
      'that withholds 3 % of transfers, which comes second',
      { quoteMint: wrappedSolMint, isFirst: false, withheldBps: 300 },
    ],
    ['raydium-cpmm', 'against USDC', { quoteMint: usdcMint, isFirst: false, withheldBps: null }],
    ['raydium-amm', 'against SOL', { quoteMint: wrappedSolMint, isFirst: false, withheldBps: null }],
    ['raydium-amm', 'against USDC', { quoteMint: usdcMint, isFirst: true, withheldBps: null }],
    ['meteora-damm-v2', 'against SOL', { quoteMint: wrappedSolMint, isFirst: true, withheldBps: null }],
    ['meteora-damm-v2', 'that withholds 3 % of transfers', { quoteMint: wrappedSolMint, isFirst: true, withheldBps: 300 }],
  ] as const
).map(([venue, what, terms], index) => [venue, what, opened(venue, { ...terms, coin: `coin ${index}` })] as const);

/** A coin that is traded against USDC. Somebody has opened a tiny pool against SOL, in which the coin is dear. */
const market = opened('raydium-cpmm', { quoteMint: usdcMint, isFirst: true, withheldBps: null, coin: 'caught', name: 'market' });
const trap = opened('raydium-amm', {
  quoteMint: wrappedSolMint,
  isFirst: true,
  withheldBps: null,
  coin: 'caught',
  name: 'trap',
  quote: 10n ** 9n,
});

/** One coin in four pools, whose prices differ by a fifth from one to the next. */
const several = (['raydium-cpmm', 'raydium-cpmm', 'raydium-amm', 'meteora-damm-v2'] as const).map((venue, index) =>
  opened(venue, {
    quoteMint: wrappedSolMint,
    isFirst: true,
    withheldBps: null,
    coin: 'several',
    name: `pool ${index}`,
    quote: 10n ** 12n + BigInt([2, 0, 3, 1][index]!) * 2n * 10n ** 11n,
  }),
);
const launchedCoin: Coin = {
  mint: launched.publicKey,
  quoteMint: wrappedSolMint,
  mayhem: false,
  tokenProgram: token2022Program,
  known: [
    {
      venue: 'meteora-dbc',
      address: dbc.poolOf(config, launched.publicKey, wrappedSolMint),
      quoteMint: wrappedSolMint,
      depthSol: 1,
      slot: 1,
    },
  ],
};

/** The transaction that `/api/trade-local` returns. */
async function tradeLocal({ operatorKey }: TradingWorld, { host }: TradingGateway, body: unknown): Promise<Uint8Array> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${operatorKey}` };
  const reply = await fetch(`http://${host}/api/trade-local`, { method: 'POST', headers, body: JSON.stringify(body) });
  const bytes = new Uint8Array(await reply.arrayBuffer());
  if (reply.status !== 200) throw new Error(Buffer.from(bytes).toString());
  return bytes;
}

describe.skipIf(!isPresent)(`orders over HTTP in the real programs (${note})`, () => {
  let world: TradingWorld;
  let gateway: TradingGateway;
  let publicKey: string;

  beforeAll(async () => {
    const data = dbcConfig();
    const account = { lamports: minimumBalance(data.length), owner: dbc.programId, data, executable: false };
    world = await startTradingWorld({
      ingest: true,
      funded: [buyer, outsider],
      genesis: { accounts: [...genesis, [config, account]], execute: executeWith(programs) },
    });
    land(world.chain, [dbcLaunch({ config, creator: maker.publicKey, mint: launched.publicKey })], [maker, launched]);
    gateway = await world.gateway();
    publicKey = await world.wallet({ usdc: true });
    for (const coin of [...kinds.map(([, , one]) => one), ...several, market, launchedCoin])
      foreign(coin, { exact: 'quoteIn', amount: 20_000_000n });
    for (const { mint } of [...kinds.map(([, , one]) => one), several[0]!, launchedCoin])
      await until(
        'the pool to be known',
        async () => (await gateway.post('/trade/buy', { publicKey, mint, amount: 1, dryRun: true })).status === 200,
      );
  });
  afterAll(() => world.close());

  /** A trade of somebody else. */
  function foreign(coin: Coin, trade: QuotedTrade): SentTrade {
    const sent = sendTrade(simulated(world.chain), coin, trade);
    if (sent.failed) throw new Error(sent.logs.join('\n'));
    return sent;
  }

  async function ended(orderId: string): Promise<OrderObject> {
    let last: Record<string, unknown> = {};
    await until(`${orderId} to end`, async () => {
      const { status, body } = await gateway.get(`/trade/orders/${orderId}`);
      if (status !== 200) return false;
      last = body;
      return ['confirmed', 'finalized'].includes(String(body['status']))
        ? body['fill'] !== null
        : ['failed', 'expired'].includes(String(body['status']));
    });
    expect(Value.Errors(OrderObject, last)).toEqual([]);
    return last as unknown as OrderObject;
  }

  /** The order landed, its fill is what was quoted, and the balances of the chain show the same. */
  function expectFilled(done: OrderObject, side: 'buy' | 'sell', { quote }: Pick<TradeAnswer, 'quote'>): void {
    expect(done.error).toBeNull();
    expectFill(world.chain, done);
    const { traderQuoteAmount, baseAmount } = done.fill!;
    expect(side === 'buy' ? [traderQuoteAmount, baseAmount] : [baseAmount, traderQuoteAmount]).toEqual([quote.inAmount, quote.outAmount]);
  }

  async function traded(side: 'buy' | 'sell', body: Readonly<Record<string, unknown>>): Promise<TradeAnswer> {
    const before = world.node.calls.length;
    const { status, body: answer } = await gateway.ask(`/trade/${side}`, { publicKey, ...body });
    expect(status, JSON.stringify(answer)).toBe(200);
    expect(Value.Errors(TradeAnswer, answer)).toEqual([]);
    // No log shows all of a trade on these venues.
    for (const { method, params } of world.node.calls.slice(before))
      if (method === 'simulateTransaction') expect(params[1]).toMatchObject({ innerInstructions: true });
    const reply = answer as unknown as TradeAnswer;
    expect(reply.simulation === null).toBe(body['skipSimulation'] === true);
    const done = await ended(reply.orderId!);
    expectFilled(done, side, reply);
    expect(done).toMatchObject({ kind: 'lightning', pool: reply.pool, poolAddress: reply.poolAddress, quote: reply.quote });
    const inQuote = reply.quote.fees.filter(({ mint }) => mint === reply.quoteMint);
    expect(BigInt(done.fill!.venueFees)).toBe(inQuote.reduce((sum, { amount }) => sum + BigInt(amount), 0n));
    return reply;
  }

  /** An order of a wallet that signs itself. */
  async function signedAndSent(side: 'buy' | 'sell', body: Readonly<Record<string, unknown>>): Promise<TradeAnswer> {
    const { status, body: answer } = await gateway.ask(`/transaction/${side}`, { publicKey: outsider.publicKey, ...body });
    expect(status, JSON.stringify(answer)).toBe(200);
    const done = await sendSigned(Buffer.from(String(answer['transaction']), 'base64'));
    const quoted = answer as unknown as TradeAnswer;
    expectFilled(done, side, quoted);
    expect(done).toMatchObject({ kind: 'sent', publicKey: outsider.publicKey, poolAddress: quoted.poolAddress });
    return quoted;
  }

  async function sendSigned(wire: Uint8Array): Promise<OrderObject> {
    const decoded = decodeTransaction(wire);
    if (decoded.kind === 'malformed') throw new Error(decoded.reason);
    const signed = assembleTransaction(decoded.messageBytes, [signMessage(outsider, decoded.messageBytes)]);
    const sent = await gateway.ask('/transaction/send', { transaction: Buffer.from(signed).toString('base64') });
    expect(sent.status, JSON.stringify(sent.body)).toBe(200);
    return ended(String(sent.body['orderId']));
  }

  it.each([...kinds, ['meteora-dbc', 'that was launched', launchedCoin] as const])('%s: a coin %s', async (venue, _, coin) => {
    const { mint, quoteMint, known } = coin;
    const at = { pool: venue, poolAddress: known[0]!.address, quoteMint };
    const bought = await traded('buy', { mint, amount: 1.25 });
    expect(bought).toMatchObject(at);
    expect(bought.quote.inUiAmount).toBe(1.25);
    expect(tokensOf(world.chain, coin, publicKey)).toBe(BigInt(bought.quote.outAmount));
    expect(await traded('sell', { mint, amount: '50%', pool: venue })).toMatchObject(at);
    expect(await traded('sell', { mint, amount: 100.5, skipSimulation: true })).toMatchObject(at);
    await traded('sell', { mint, sellAll: true });
    expect(tokensOf(world.chain, coin, publicKey)).toBe(0n);
    expect(await signedAndSent('buy', { mint, amount: 0.75 })).toMatchObject(at);
    await signedAndSent('sell', { mint, sellAll: true, pool: venue });
    expect(tokensOf(world.chain, coin, outsider.publicKey)).toBe(0n);
  });

  it('`auto` trades in the pool with the best quote', async () => {
    const { mint } = several[0]!;
    await until('four pools to be known', async () => {
      const quotes = await Promise.all(
        ['raydium-cpmm', 'raydium-amm', 'meteora-damm-v2'].map((pool) => gateway.post('/quote', { side: 'buy', mint, amount: 1, pool })),
      );
      return quotes.every(({ status }) => status === 200);
    });
    const [dear, cheap, dearest, middle] = several.map(({ known }) => known[0]!.address);
    expect((await traded('buy', { mint, amount: 1 })).poolAddress).toBe(cheap);
    expect((await traded('buy', { mint, amount: 1, pool: 'meteora-damm-v2' })).poolAddress).toBe(middle);
    expect((await traded('sell', { mint, amount: '50%' })).poolAddress).toBe(dearest);
    expect((await traded('sell', { mint, sellAll: true, pool: 'raydium-cpmm' })).poolAddress).toBe(dear);
  });

  it('`auto` stays in the market of a coin when somebody opens a small pool in another coin', async () => {
    const { mint } = market;
    const known = async (path: string, body: object): Promise<boolean> => (await gateway.post(path, { mint, ...body })).status === 200;
    await until('the market to be known', () => known('/trade/buy', { publicKey, amount: 10, dryRun: true }));
    expect(await traded('buy', { mint, amount: 10 })).toMatchObject({ pool: 'raydium-cpmm', quoteMint: usdcMint });
    foreign(trap, { exact: 'quoteIn', amount: 20_000_000n });
    await until('the trap to be known', () => known('/quote', { side: 'buy', amount: 1, pool: 'raydium-amm' }));
    expect(await traded('buy', { mint, amount: 10 })).toMatchObject({ pool: 'raydium-cpmm', quoteMint: usdcMint });
    expect(await traded('sell', { mint, amount: '50%' })).toMatchObject({ pool: 'raydium-cpmm', quoteMint: usdcMint });
  });

  it('PumpPortal’s clients trade on the venues, by their names', async () => {
    for (const [pool, venue, coin] of [
      ['raydium', 'raydium-amm', kinds[3]![2]],
      ['raydium-cpmm', 'raydium-cpmm', kinds[0]![2]],
      ['meteora-damm-v2', 'meteora-damm-v2', kinds[6]![2]],
      ['meteora-dbc', 'meteora-dbc', launchedCoin],
      ['auto', 'meteora-damm-v2', kinds[5]![2]],
    ] as const) {
      const body = { mint: coin.mint, denominatedInSol: 'true', slippage: 10, priorityFee: 0.00005, pool };
      const { status, body: answer } = await gateway.ask('/api/trade', { ...body, publicKey, action: 'buy', amount: 0.1 });
      expect([status, answer['errors']], JSON.stringify(answer)).toEqual([200, []]);
      const bought = await ended(String(answer['orderId']));
      expect(bought).toMatchObject({ pool: venue, error: null });
      expectFill(world.chain, bought);
      expect(bought.fill!.traderQuoteAmount).toBe('100000000');
      const sold = await gateway.ask('/api/trade', { ...body, publicKey, action: 'sell', amount: '100%' });
      expectFill(world.chain, await ended(String(sold.body['orderId'])));
      // Of a wallet that signs itself: exactly this many tokens.
      const exact = { ...body, publicKey: outsider.publicKey, action: 'buy', amount: '1000.5', denominatedInSol: 'false' };
      const held = tokensOf(world.chain, coin, outsider.publicKey);
      const done = await sendSigned(await tradeLocal(world, gateway, exact));
      expect(done).toMatchObject({ pool: venue, error: null });
      expectFill(world.chain, done);
      expect(tokensOf(world.chain, coin, outsider.publicKey) - held).toBe(1_000_500_000n);
    }
  });

  /** Somebody else takes nearly all of one coin out of the pool while the order is at this step. */
  function drainAt(method: 'simulateTransaction' | 'sendTransaction', coin: Coin, trade: QuotedTrade): void {
    world.node.tampering = async (call, answer) => {
      if (call.method === method) {
        world.node.tampering = null;
        foreign(coin, trade);
      }
      return answer();
    };
  }

  it.each(kinds.filter(([, what]) => what === 'against SOL'))('%s: a pool that is drained after the quote', async (_, _what, coin) => {
    const { mint } = coin;
    const price = { exact: 'quoteIn', amount: 100_000n * sol } as const;
    drainAt('simulateTransaction', coin, price);
    const refused = await gateway.post('/trade/buy', { publicKey, mint, amount: 1 });
    expect(refused, JSON.stringify(refused.body)).toMatchObject({ status: 400, body: { error: { code: 'SLIPPAGE_EXCEEDED' } } });
    const { quoted, actual, bound } = (refused.body['error'] as { details: Record<'quoted' | 'actual' | 'bound', string> }).details;
    expect(BigInt(actual) < BigInt(bound) && BigInt(bound) < BigInt(quoted)).toBe(true);
    expect(tokensOf(world.chain, coin, publicKey)).toBe(0n);
    // The signed transaction is on its way already.
    const held = (await traded('buy', { mint, amount: 1 })).quote.outAmount;
    drainAt('sendTransaction', coin, { exact: 'baseIn', amount: tokensOf(world.chain, coin, buyer.publicKey) });
    const { body } = await gateway.post('/trade/sell', { publicKey, mint, sellAll: true });
    const failed = await ended(String(body['orderId']));
    expect(failed).toMatchObject({ status: 'failed', fill: null, error: { code: 'SLIPPAGE_EXCEEDED' } });
    expect(tokensOf(world.chain, coin, publicKey)).toBe(BigInt(held));
  });
});

describe.skipIf(!fixturesPresent)('orders on LaunchLab, whose program cannot be had', () => {
  /**
   * A recorded purchase on a curve with the recorded numbers. Quote and instruction are those of the chain, and so is the request of the simulation. Not
   * proven here: that the program of today accepts the instruction, what it charges, and the fill. The answer of the simulation is made up.
   */
  it('the quote and the instruction of a purchase are the recorded ones, up to its simulation', async () => {
    const asAccount = (owner: string, data: Uint8Array): ChainAccount => ({
      lamports: minimumBalance(data.length),
      owner,
      data,
      executable: false,
    });
    const accounts = [...curveAccounts(bonk)].map(([address, data]) => [address, asAccount(launchLabProgram, data)] as const);
    const mint = [bonk.mint, asAccount(tokenProgram, mintData(6, 10n ** 15n, null))] as const;
    const world = await startTradingWorld({ funded: [outsider], genesis: { accounts: [...accounts, mint] } });
    try {
      const gateway = await world.gateway();
      const asked: { readonly wire: string; readonly options: unknown }[] = [];
      world.node.tampering = async ({ method, params }, answer) => {
        if (method !== 'simulateTransaction') return answer();
        asked.push({ wire: String(params[0]), options: params[1] });
        const value = { err: null, logs: [], unitsConsumed: 90_000, innerInstructions: [], accounts: null, returnData: null };
        return { context: { slot: world.chain.slot }, value };
      };
      const body = { publicKey: outsider.publicKey, mint: bonk.mint, slippage: 1 };
      const local = { ...body, action: 'buy', amount: '16967820.845269', denominatedInSol: 'false', priorityFee: 0.00005, pool: 'bonk' };
      const { status, body: quoted } = await gateway.ask('/transaction/buy', { ...body, amount: 0.654952192 });
      expect([status, quoted['pool'], quoted['poolAddress']], JSON.stringify(quoted)).toEqual([200, 'launchlab', accounts[0]![0]]);
      // The fees are those of the recorded trade.
      expect(quoted['quote']).toMatchObject({ inAmount: '654952192', feeTotal: '8186903' });
      const decoded = decodeTransaction(await tradeLocal(world, gateway, local));
      if (decoded.kind === 'malformed') throw new Error(decoded.reason);
      const of = decoded.instructions.find(({ programIdIndex }) => decoded.accountKeys[programIdIndex] === launchLabProgram)!;
      const named = of.accountIndexes.map((index) => decoded.accountKeys[index]!);
      const recorded = swapIn('buy_exact_out_3USu3YAsg2qB');
      const isOwn = (at: number): boolean => [0, 5, 6].includes(at);
      expect(named.filter((_, at) => at < 15 && !isOwn(at))).toEqual(recorded.accounts.filter((_, at) => at < 15 && !isOwn(at)));
      expect(Buffer.from(of.data.subarray(0, 16))).toEqual(Buffer.from(recorded.data.subarray(0, 16)));
      // The recorded price, and 1 % more.
      expect(Buffer.from(of.data).readBigUInt64LE(16)).toBe((654_952_192n * 101n) / 100n);
      expect(asked.map(({ options }) => options)).toEqual(asked.map(() => expect.objectContaining({ innerInstructions: true }) as unknown));
      expect(asked).toHaveLength(2);
    } finally {
      await world.close();
    }
  });
});
