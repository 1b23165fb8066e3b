import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeTransaction } from '@sluice/shared/solana/transaction/transaction.ts';
import { leastJitoTip } from '@sluice/shared/config/settings/tip-limits.ts';
import { tipAccounts } from '@sluice/shared/solana/addresses/tip-accounts.ts';
import { NodeFault, startTamperedNode, type TamperedNode } from '../support/chain/tampered-node.ts';
import { launchCoin, trader, tradeOnChain, type QuotedCoin } from '../support/chain/quoted-trades.ts';
import { startTradingWorld, type Answered, type TradingGateway, type TradingWorld } from '../support/chain/trading-world.ts';
import { until } from '../support/gateway.ts';

/** The fields of orders, requests and answers that are read here. */
interface Json {
  readonly [name: string]: unknown;
  readonly orderId?: string;
  readonly signature?: string;
  readonly bundleId?: string;
  readonly side?: string;
  readonly quote?: { readonly inAmount: string; readonly outAmount: string };
  readonly fill?: { readonly baseAmount: string; readonly traderQuoteAmount: string };
  readonly error?: { readonly details: { readonly fields: Readonly<Record<string, string>> } };
}

const path = '/trade/batch';
const sol = 10n ** 9n;
let world: TradingWorld;
/** In front of the block engine: records and changes its calls. */
let engine: TamperedNode;
let gateway: TradingGateway;
let coins: readonly [QuotedCoin, QuotedCoin];
let orders = 0;

const buy = (publicKey: string, more: object = {}): Json => ({
  side: 'buy',
  publicKey,
  mint: coins[0].mint,
  amount: 0.05 + ++orders / 1e5,
  slippage: 20,
  priorityFee: 0.0001,
  ...more,
});
const sell = (publicKey: string, more: object = {}): Json => ({
  side: 'sell',
  publicKey,
  mint: coins[0].mint,
  amount: '100%',
  slippage: 20,
  priorityFee: 0.0001,
  ...more,
});

const bundleOf = (...list: readonly Json[]): Json => ({ orders: list, bundle: true });
let requests = 0;
const ask = (body: Json, idempotencyKey = `bundle ${++requests}`.replace(' ', '-'), at = gateway): Promise<Answered> =>
  at.ask(path, body, { idempotencyKey });

function resultsOf({ status, body }: Answered): readonly Json[] {
  expect(status, JSON.stringify(body)).toBe(200);
  return body['results'] as readonly Json[];
}

const sentBundles = (): readonly (readonly string[])[] =>
  engine.calls.flatMap(({ method, params }) =>
    method !== 'sendBundle' ? [] : [(params[0] as readonly string[]).map((wire) => signatureOf(wire))],
  );

function signatureOf(wireBase64: string): string {
  const decoded = decodeTransaction(Buffer.from(wireBase64, 'base64'));
  return decoded.kind === 'malformed' ? decoded.reason : (decoded.signatures[0] ?? '');
}

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`http://${gateway.host}/metrics`)).text();
  return Number(new RegExp(`^sluice_gateway_${name} (\\d+)$`, 'm').exec(text)?.[1]);
}

const stateOf = async (result: Json): Promise<Json> => (await gateway.get(`/trade/orders/${result['orderId']}`)).body;

async function ended(results: readonly Json[]): Promise<readonly string[]> {
  return until(
    'all orders to end',
    async () => {
      const states = await Promise.all(results.map(async (one) => String((await stateOf(one))['status'])));
      return states.every((state) => ['finalized', 'failed', 'expired'].includes(state)) && states;
    },
    60_000,
  );
}

/** What a transaction pays to accounts of the block engine. */
function tipIn(signature: string): bigint {
  const record = world.chain.transaction(signature)!;
  return record.accountKeys.reduce(
    (sum, address, at) => (tipAccounts.jito.has(address) ? sum + record.postBalances[at]! - record.preBalances[at]! : sum),
    0n,
  );
}

beforeAll(async () => {
  world = await startTradingWorld();
  engine = await startTamperedNode(world.simnet.rpcUrl);
  coins = [launchCoin(world.chain), launchCoin(world.chain)];
  const broadcast = { jitoUrl: engine.url, jitoTip: leastJitoTip, senderUrl: null, senderTip: 0n };
  gateway = await world.gateway({ config: { broadcast } });
  await gateway.ready(await world.wallet(), coins[0].mint);
}, 90_000);
afterAll(async () => {
  await engine.close();
  await world.close();
});

describe('a bundle', { timeout: 90_000 }, () => {
  it('of two wallets lands in one block, each order on the state that those before it leave', async () => {
    const [one, two] = [await world.wallet(), await world.wallet()];
    const body = bundleOf(buy(one, { amount: 20 }), buy(two), sell(one, { amount: '50%' }), sell(two));
    const answer = await ask(body, 'whole');
    const results = resultsOf(answer);
    const [{ bundleId }] = results as [Json];
    expect(bundleId).toMatch(/^[0-9a-f]{64}$/);
    for (const result of results)
      expect(result).toMatchObject({ bundleId, orderId: expect.any(String), simulation: { slot: expect.any(Number) } });
    expect(await ended(results)).toEqual(['finalized', 'finalized', 'finalized', 'finalized']);
    const records = results.map(({ signature }) => world.chain.transaction(String(signature))!);
    expect(new Set(records.map(({ slot }) => slot)).size).toBe(1);
    expect(records.map(({ index }) => index)).toEqual(records.map((_, at) => records[0]!.index + at));
    // Each trade gives exactly what was quoted after those before it: nothing else traded meanwhile.
    const fills = await Promise.all(results.map(stateOf));
    expect(fills.map(({ fill }) => fill!.traderQuoteAmount)).toEqual(
      results.map(({ side, quote }) => (side === 'buy' ? quote!.inAmount : quote!.outAmount)),
    );
    expect(fills.map(({ fill }) => fill!.baseAmount)).toEqual(
      results.map(({ side, quote }) => (side === 'buy' ? quote!.outAmount : quote!.inAmount)),
    );
    expect(fills.map((order) => order['bundleId'])).toEqual(results.map(() => bundleId));
    // Only the last order pays the block engine, and no node got a transaction of the bundle from us.
    expect(records.map(({ signature }) => tipIn(signature))).toEqual([0n, 0n, 0n, leastJitoTip]);
    expect(sentBundles()[0]).toEqual(results.map(({ signature }) => signature));
    for (const { signature } of results) expect(world.sent()).not.toContain(signature);
    expect(engine.calls.filter(({ method }) => method === 'sendTransaction')).toEqual([]);

    const again = await ask(body, 'whole');
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(resultsOf(again).map(({ orderId }) => orderId)).toEqual(results.map(({ orderId }) => orderId));
    expect(await ask({ ...body, bundle: false }, 'whole')).toMatchObject({ status: 422 });
  });

  it('is refused whole, unsigned, if its third order fails after those before it', async () => {
    const [one, two] = [await world.wallet(), await world.wallet({ funds: sol })];
    const signed = await metric('orders_signer_signed_total');
    const before = sentBundles().length;
    // Alone it would pass: the second order takes the SOL that it needs.
    const third = buy(two, { amount: 0.6 });
    expect(resultsOf(await ask(bundleOf({ ...third, dryRun: true }, buy(one, { dryRun: true })))).length).toBe(2);
    const short = await ask(bundleOf(buy(one), buy(two, { amount: 0.5 }), third));
    expect(short.body).toMatchObject({ error: { code: 'INSUFFICIENT_BALANCE', details: { order: 2 } } });
    // What the first order leaves of the curve is quoted worse than the caller accepts.
    const [{ quote }] = resultsOf(await ask(bundleOf(buy(one, { dryRun: true }), buy(one, { dryRun: true })))) as [Json];
    const bounded = buy(two, { amount: 0.5, minOut: String(BigInt(quote!.outAmount) * 7n) });
    const worse = await ask(bundleOf(buy(one, { amount: 20 }), buy(one), bounded));
    expect(worse.body).toMatchObject({ error: { code: 'SLIPPAGE_EXCEEDED', details: { order: 2 } } });
    expect(sentBundles().length).toBe(before);
    expect(await metric('orders_signer_signed_total')).toBe(signed);
    expect(world.landed(one)).toEqual([]);
  });

  it('lands no order if one of them fails at the block engine: all expire, none is sent alone', async () => {
    const [one, two] = [await world.wallet(), await world.wallet()];
    engine.tampering = async ({ method }, answer) => {
      // The price moves after the simulation, and before the bundle arrives.
      if (method === 'sendBundle') tradeOnChain(world.chain, coins[0], 'pump', { exact: 'quoteIn', amount: 40n * sol }, 1n, trader);
      return answer();
    };
    const results = resultsOf(await ask(bundleOf(buy(one, { slippage: 0.1 }), buy(two, { mint: coins[1].mint, slippage: 50 }))));
    engine.tampering = null;
    expect(await ended(results)).toEqual(['expired', 'expired']);
    expect([...world.landed(one), ...world.landed(two)]).toEqual([]);
    for (const { signature } of results) expect(world.sent()).not.toContain(signature);
    // It was sent again, as a whole.
    const own = sentBundles().filter((bundle) => bundle.includes(String(results[0]!['signature'])));
    expect(own.length).toBeGreaterThan(1);
    for (const bundle of own) expect(bundle).toEqual(results.map(({ signature }) => signature));
  });

  it('of which a single order leaks is reported as what it is: that one landed, the others expired', async () => {
    const [one, two] = [await world.wallet(), await world.wallet()];
    engine.tampering = async ({ method, params }, answer) => {
      if (method !== 'sendBundle') return answer();
      world.chain.send(new Uint8Array(Buffer.from(String((params[0] as readonly string[])[0]), 'base64')), { skipPreflight: true });
      return 'lost';
    };
    const results = resultsOf(await ask(bundleOf(buy(one), buy(two))));
    const states = await ended(results);
    engine.tampering = null;
    expect(states).toEqual(['finalized', 'expired']);
    await until('the report', async () => (await metric('orders_broken_bundles_total')) === 1);
  });

  it('without simulateBundle: is simulated order by order if they are independent, and refused with the reason if not', async () => {
    const [one, two] = [await world.wallet(), await world.wallet()];
    world.node.tampering = async ({ method }, answer) =>
      method === 'simulateBundle' ? new NodeFault(-32_601, 'Method not found') : answer();
    const plain = await (
      await world.gateway({ config: { broadcast: { jitoUrl: engine.url, jitoTip: leastJitoTip, senderUrl: null, senderTip: 0n } } })
    ).ready(one, coins[0].mint);
    for (const dependent of [buy(two), buy(one, { mint: coins[1].mint })]) {
      const { status, body } = await ask(bundleOf(buy(one), dependent), undefined, plain);
      expect(status).toBe(400);
      expect((body as Json)['error']!.details.fields['orders.1']).toContain('simulateBundle');
    }
    const results = resultsOf(await ask(bundleOf(buy(one), buy(two, { mint: coins[1].mint })), undefined, plain));
    world.node.tampering = null;
    expect(await ended(results)).toEqual(['finalized', 'finalized']);
  });

  it('on paper is filled whole, or not at all, each order on the state that those before it leave', async () => {
    const broadcast = { jitoUrl: engine.url, jitoTip: leastJitoTip, senderUrl: null, senderTip: 0n };
    const paper = await world.gateway({ config: { trading: 'paper', broadcast } });
    const [one, two] = await Promise.all([1, 2].map(async () => String((await paper.ask('/paper/wallets', {})).body['publicKey'])));
    await paper.ready(one!, coins[0].mint);
    const held = async (wallet: string): Promise<Json> => (await paper.get(`/portfolio/${wallet}`)).body;
    const body = bundleOf(buy(one!, { amount: 2 }), buy(two!, { amount: 2 }), sell(one!, { amount: '50%' }), sell(one!));
    const results = resultsOf(await ask(body, 'paper', paper));
    expect(results).toMatchObject(results.map(() => ({ paper: true, status: 'finalized', bundleId: results[0]!['bundleId'] })));
    const amounts = results.map(({ quote }) => BigInt(quote!.outAmount));
    // The second buy comes after the first, and the sale of the rest after the sale of a half.
    expect(amounts[1]).toBeLessThan(amounts[0]!);
    expect(amounts[3]).toBeLessThan(amounts[2]!);
    expect(BigInt(results[2]!['quote']!.inAmount) + BigInt(results[3]!['quote']!.inAmount)).toBe(amounts[0]);
    expect(resultsOf(await ask(body, 'paper', paper)).map(({ orderId }) => orderId)).toEqual(results.map(({ orderId }) => orderId));
    const before = await held(two!);
    const refused = await ask(bundleOf(sell(two!, { amount: '50%' }), buy(two!), buy(two!, { amount: 50 })), undefined, paper);
    expect(refused.body).toMatchObject({ error: { code: 'INSUFFICIENT_BALANCE', details: { order: 2 } } });
    expect((await held(two!))['sol']).toEqual(before['sol']);
  });

  it('counts against the daily limit of each wallet as a whole', async () => {
    const spender = await world.wallet();
    const signerLimits = { maxOrderLamports: sol, maxDayLamports: sol };
    const broadcast = { jitoUrl: engine.url, jitoTip: leastJitoTip, senderUrl: null, senderTip: 0n };
    const limited = await (await world.gateway({ config: { signerLimits, broadcast } })).ready(spender, coins[0].mint);
    const { status, body } = await ask(
      bundleOf(buy(spender, { amount: 0.4 }), buy(spender, { amount: 0.4 }), buy(spender, { amount: 0.4 })),
      undefined,
      limited,
    );
    expect([status, body]).toMatchObject([403, { error: { code: 'FORBIDDEN', details: { order: 2, limitLamports: String(sol) } } }]);
  });

  it('is refused without a block engine, with too many orders, without a simulation, and with mixed dry runs', async () => {
    const one = await world.wallet();
    const without = await (await world.gateway()).ready(one, coins[0].mint);
    const fieldsOf = ({ status, body }: Answered): readonly string[] => {
      expect(status).toBe(400);
      return Object.keys((body as Json)['error']!.details.fields);
    };
    expect(fieldsOf(await ask(bundleOf(buy(one), buy(one)), undefined, without))).toEqual(['bundle']);
    expect(fieldsOf(await ask(bundleOf(...Array.from({ length: 6 }, () => buy(one)))))).toEqual(['orders']);
    expect(fieldsOf(await ask(bundleOf(buy(one), buy(one, { skipSimulation: true }))))).toEqual(['orders.1.skipSimulation']);
    expect(fieldsOf(await ask(bundleOf(buy(one), buy(one, { dryRun: true }))))).toEqual(['orders.1.dryRun']);
    const dry = resultsOf(await ask(bundleOf(buy(one, { dryRun: true }), sell(one, { dryRun: true }))));
    expect(dry).toMatchObject([
      { status: 'simulated', dryRun: true, orderId: null },
      { status: 'simulated', dryRun: true },
    ]);
    expect(world.landed(one)).toEqual([]);
  });
});
