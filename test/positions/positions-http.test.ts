import type { Keypair } from '@sluice/shared/solana/addresses/keypair.ts';
import { Positions, type WalletPosition } from '@sluice/shared/wire/rest/wallets/positions.ts';
import { PositionEvent } from '@sluice/shared/wire/orders/positions.ts';
import { Value } from 'typebox/value';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deriveTokenAccount } from '../simnet/layout/derive.ts';
import { tokenAmount } from '../simnet/layout/token-state.ts';
import { associatedTokenInstruction } from '../simnet/programs/token/associated-token.ts';
import { transferCheckedInstruction } from '../simnet/programs/token/token-instructions.ts';
import { wallet } from '../simnet/runtime/wallets.ts';
import { land } from '../simnet/support/test-chain.ts';
import { launchCoin, tradeOnChain, trader, type QuotedCoin } from '../support/chain/quoted-trades.ts';
import { startTradingWorld, type TradingGateway, type TradingWorld } from '../support/chain/trading-world.ts';
import { StreamClient } from '../support/clients/stream-client.ts';
import { until } from '../support/gateway.ts';
import { makeKey } from '../support/keys.ts';

/** Positions over HTTP, of wallets that trade by orders, by transactions of their own, and on paper. */
const timeoutMs = 90_000;
const sol = 1_000_000_000n;
const stranger = wallet('trading', 'stranger');
let world: TradingWorld;
let gateway: TradingGateway;
beforeAll(async () => {
  world = await startTradingWorld({ ingest: true, funded: [stranger] });
  gateway = await (await world.gateway()).ready(await world.wallet(), launchCoin(world.chain).mint);
}, timeoutMs);
afterAll(() => world.close());

async function positionsOf(publicKey: string, at = gateway, key?: string): Promise<Positions> {
  const { status, body } = await at.get(`/positions/${publicKey}`, key === undefined ? {} : { key });
  expect(status, JSON.stringify(body)).toBe(200);
  expect(Value.Errors(Positions, body)).toEqual([]);
  return body as unknown as Positions;
}

/** The position once it has what the chain holds, compared with the chain. */
async function settledPosition(publicKey: string, coin: QuotedCoin, trades: number, at = gateway): Promise<WalletPosition> {
  let last: unknown = null;
  const found = await until('the position to have all trades', async () => {
    const { complete, positions } = await positionsOf(publicKey, at);
    const position = positions.find(({ mint }) => mint === coin.mint);
    last = { complete, position, held: String(heldOf(publicKey, coin)) };
    return complete && position !== undefined && position.buys + position.sells === trades && position;
  }).catch((error: unknown) => {
    throw new Error(`${String(error)}: ${JSON.stringify(last)}`);
  });
  return found;
}

function heldOf(publicKey: string, { mint, tokenProgram }: QuotedCoin): bigint {
  return tokenAmount(world.chain.account(deriveTokenAccount(publicKey, mint, tokenProgram).address));
}

async function order(side: 'buy' | 'sell', body: Readonly<Record<string, unknown>>, at = gateway) {
  const { status, body: placed } = await at.ask(`/trade/${side}`, { slippage: 50, ...body });
  expect(status, JSON.stringify(placed)).toBe(200);
  const { fill } = await until('its fill', async () => {
    const { body: of } = await at.get(`/trade/orders/${String(placed['orderId'])}`);
    return of['fill'] !== null && (of as unknown as { readonly fill: Readonly<Record<string, string>> });
  });
  return { lamports: BigInt(fill['traderQuoteAmount']!), tokens: BigInt(fill['baseAmount']!), fee: BigInt(fill['networkFee']!) };
}

function giveTokens(coin: QuotedCoin, to: string, amount: bigint, from: Keypair = trader): void {
  const { mint, tokenProgram } = coin;
  const [source, destination] = [from.publicKey, to].map((owner) => deriveTokenAccount(owner, mint, tokenProgram).address) as [
    string,
    string,
  ];
  const transfer = transferCheckedInstruction({
    programId: tokenProgram,
    source,
    mint,
    destination,
    authority: from.publicKey,
    amount,
    decimals: 6,
  });
  const record = land(world.chain, [associatedTokenInstruction(from.publicKey, to, mint, tokenProgram, true), transfer], [from]);
  if (record.err !== null) throw new Error(record.logs.join('\n'));
}

const inSol = (lamports: bigint): number => Number(lamports) / 1e9;

describe('GET /positions/{publicKey}', () => {
  it('has the average cost of orders and of foreign transactions, and equals the chain to the unit', { timeout: timeoutMs }, async () => {
    const coin = launchCoin(world.chain);
    const publicKey = await world.wallet();
    const own = wallet('trading', 'custodial 1');
    expect(own.publicKey).toBe(publicKey);
    const first = await order('buy', { publicKey, mint: coin.mint, amount: 0.4 });
    const second = await order('buy', { publicKey, mint: coin.mint, amount: 0.2 });
    const bought = await settledPosition(publicKey, coin, 2);
    expect(bought).toMatchObject({ amount: String(first.tokens + second.tokens), unexplained: '0', buys: 2, sells: 0, realizedSol: 0 });
    const average = inSol(first.lamports + second.lamports) / (Number(first.tokens + second.tokens) / 1e6);
    expect(bought.averageCostSol).toBeCloseTo(average, 12);
    expect(bought.costSol).toBeCloseTo(inSol(first.lamports + second.lamports), 9);
    const sold = await order('sell', { publicKey, mint: coin.mint, amount: '50%' });
    const before = heldOf(publicKey, coin);
    const foreign = tradeOnChain(world.chain, coin, 'pump', { exact: 'quoteIn', amount: sol / 10n }, 1n, own);
    expect(foreign.err).toBeNull();
    const after = await settledPosition(publicKey, coin, 4);
    expect(BigInt(after.amount)).toBe(heldOf(publicKey, coin));
    expect(heldOf(publicKey, coin)).toBeGreaterThan(before);
    expect(after).toMatchObject({ unexplained: '0', buys: 3, sells: 1 });
    expect(after.realizedSol).toBeCloseTo(inSol(sold.lamports) - (average * Number(sold.tokens)) / 1e6, 8);
    // Fees of orders come once they are final.
    const fees = inSol(first.fee + second.fee + sold.fee);
    await until('the fees', async () => Math.abs((await settledPosition(publicKey, coin, 4)).feesSol - fees) < 1e-12);
    expect(after.valueSol! - after.costSol).toBeCloseTo(after.unrealizedSol!, 12);
  });

  it('is not moved by dust, and marks it; what leaves without a trade leaves last', { timeout: timeoutMs }, async () => {
    const coin = launchCoin(world.chain);
    const publicKey = await world.wallet();
    await order('buy', { publicKey, mint: coin.mint, amount: 0.4 });
    const before = await settledPosition(publicKey, coin, 1);
    const dust = 700_001n;
    giveTokens(coin, publicKey, dust);
    const dusted = await until('the dust', async () => {
      const position = await settledPosition(publicKey, coin, 1);
      return position.unexplained === String(dust) && position;
    });
    expect(BigInt(dusted.amount)).toBe(BigInt(before.amount) + dust);
    const { averageCostSol, costSol, realizedSol } = before;
    expect(dusted).toMatchObject({ averageCostSol, costSol, realizedSol });
    const own = wallet('trading', 'custodial 2');
    expect(own.publicKey).toBe(publicKey);
    const left = BigInt(dusted.amount) / 2n;
    giveTokens(coin, stranger.publicKey, BigInt(dusted.amount) - left, own);
    const half = await until('the departure', async () => {
      const position = await settledPosition(publicKey, coin, 1);
      return position.unexplained === '0' && position;
    });
    expect(half).toMatchObject({ amount: String(left), realizedSol: 0 });
    expect(half.averageCostSol).toBeCloseTo(averageCostSol!, 12);
  });

  it('is the same after it was rebuilt from the history of the chain', { timeout: timeoutMs }, async () => {
    const coin = launchCoin(world.chain);
    expect((await positionsOf(stranger.publicKey)).complete).toBe(true);
    land(world.chain, [associatedTokenInstruction(stranger.publicKey, stranger.publicKey, coin.mint, coin.tokenProgram, true)], [stranger]);
    for (const amount of [sol / 5n, sol / 7n]) tradeOnChain(world.chain, coin, 'pump', { exact: 'quoteIn', amount }, 1n, stranger);
    tradeOnChain(world.chain, coin, 'pump', { exact: 'baseIn', amount: heldOf(stranger.publicKey, coin) / 3n }, 1n, stranger);
    const live = await settledPosition(stranger.publicKey, coin, 3);
    // Another process takes over, and finds nothing of the wallet.
    const { walletStates } = world.store;
    const place = `live:${world.chain.genesisHash}`;
    const term = await walletStates.openTerm(place, world.store.time.nowMs());
    const { checkpoint } = await walletStates.load(place);
    const nothing = { place, term, checkpoint, wallets: [], counted: [], atMs: world.store.time.nowMs() };
    expect(await walletStates.save({ ...nothing, dropped: [stranger.publicKey] })).toBe('stored');
    const rebuilt = await settledPosition(stranger.publicKey, coin, 3);
    expect({ ...rebuilt, valueSol: 0, unrealizedSol: 0, profitPct: 0 }).toEqual({ ...live, valueSol: 0, unrealizedSol: 0, profitPct: 0 });
    expect(BigInt(rebuilt.amount)).toBe(heldOf(stranger.publicKey, coin));
    // It continues from the log, and counts nothing twice.
    tradeOnChain(world.chain, coin, 'pump', { exact: 'baseIn', amount: heldOf(stranger.publicKey, coin) }, 1n, stranger);
    expect(await settledPosition(stranger.publicKey, coin, 4)).toMatchObject({ amount: '0', unexplained: '0', averageCostSol: null });
  });

  it('is announced to the keys that follow the wallet, and hidden from other accounts', { timeout: timeoutMs }, async () => {
    const coin = launchCoin(world.chain);
    const publicKey = await world.wallet();
    await positionsOf(publicKey);
    const stream = await new StreamClient(`ws://${gateway.host}/api/data`, { authorization: `Bearer ${world.operatorKey}` }).open();
    await stream.ask({ op: 'subscribe', channel: 'orders' });
    const { tokens } = await order('buy', { publicKey, mint: coin.mint, amount: 0.1 });
    const isOfWallet = (data?: Readonly<Record<string, unknown>> | null) =>
      data?.['type'] === 'position' && data['publicKey'] === publicKey;
    const event = await until('the event', () => stream.messages.findLast(({ data }) => isOfWallet(data) && data?.['buys'] === 1)?.data);
    expect(Value.Errors(PositionEvent, event)).toEqual([]);
    expect(event).toMatchObject({ publicKey, mint: coin.mint, amount: String(tokens), buys: 1 });
    stream.close();
    await world.store.accounts.create({ id: 'holder', wallet: 'a wallet', plan: 'premium', createdAtMs: 1 });
    const { key } = await makeKey(world.store, { plan: 'premium', accountId: 'holder' });
    const refused = await until('the key to be known', async () => {
      const answer = await gateway.get(`/positions/${publicKey}`, { key });
      return answer.status !== 401 && answer;
    });
    expect([refused.status, (refused.body['error'] as { readonly code: string }).code]).toEqual([403, 'FORBIDDEN']);
    expect((await gateway.get('/positions/nonsense')).status).toBe(400);
    expect((await gateway.get(`/positions/${publicKey}`, { key: '' })).status).toBe(401);
    expect((await gateway.get(`/positions/${stranger.publicKey}`, { key })).status).toBe(200);
  });
});

describe('on paper', () => {
  it('has the positions of orders, equal to the balance on paper, and none after a reset', { timeout: timeoutMs }, async () => {
    const config = { trading: 'paper', keystorePassphraseFile: null } as const;
    const paper = await (await world.gateway({ config })).ready(stranger.publicKey, launchCoin(world.chain).mint);
    const coin = launchCoin(world.chain);
    // Orders on paper do not fill the curve that they sell to.
    tradeOnChain(world.chain, coin, 'pump', { exact: 'quoteIn', amount: sol }, 1n);
    const publicKey = String((await paper.ask('/paper/wallets', {})).body['publicKey']);
    const first = await order('buy', { publicKey, mint: coin.mint, amount: 0.4 }, paper);
    const sold = await order('sell', { publicKey, mint: coin.mint, amount: '25%' }, paper);
    const position = await settledPosition(publicKey, coin, 2, paper);
    const { body: portfolio } = await paper.get(`/portfolio/${publicKey}`);
    const held = (portfolio['holdings'] as readonly { readonly mint: string; readonly amount: string }[]).find(
      ({ mint }) => mint === coin.mint,
    );
    expect(position).toMatchObject({ amount: held!.amount, unexplained: '0', buys: 1, sells: 1 });
    expect(BigInt(position.amount)).toBe(first.tokens - sold.tokens);
    const average = inSol(first.lamports) / (Number(first.tokens) / 1e6);
    expect(position.averageCostSol).toBeCloseTo(average, 12);
    expect(position.realizedSol).toBeCloseTo(inSol(sold.lamports) - (average * Number(sold.tokens)) / 1e6, 8);
    expect(position.feesSol).toBeCloseTo(inSol(first.fee + sold.fee), 12);
    // Trades of the same gateway on the chain are no positions of a paper wallet, and a wallet of the chain can be followed too.
    expect((await positionsOf(trader.publicKey, paper)).complete).toBe(true);
    expect((await paper.ask('/paper/balance', { publicKey, amount: 1, reset: true })).status).toBe(200);
    expect((await positionsOf(publicKey, paper)).positions).toEqual([]);
    await order('buy', { publicKey, mint: coin.mint, amount: 0.1 }, paper);
    expect(await settledPosition(publicKey, coin, 1, paper)).toMatchObject({ buys: 1, sells: 0, realizedSol: 0 });
  });
});
