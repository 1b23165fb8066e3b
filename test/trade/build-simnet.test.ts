import { createMessageBuilder, type BuildRequest } from '@sluice/gateway/trade/build/message-builder.ts';
import { assembleMarket, planMarket, usualQuotes } from '@sluice/gateway/quote/token-market.ts';
import { signMessage } from '@sluice/shared/solana/keypair.ts';
import { associatedTokenAddress } from '@sluice/shared/solana/pda.ts';
import { assembleTransaction } from '@sluice/shared/solana/transaction.ts';
import { tokenProgram, usdcMint, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { slippageBounds, type Quote, type QuotedPool, type QuotedTrade } from '@sluice/shared/venues/quoting.ts';
import { venueByProgram, venues } from '@sluice/shared/venues/registry.ts';
import type { BuiltTrade } from '@sluice/shared/venues/trading.ts';
import { expect, test } from 'vitest';
import type { TransactionRecord } from '../simnet/chain.ts';
import { minimumBalance } from '../simnet/ledger/rent.ts';
import type { NewCoin } from '../simnet/market/instructions.ts';
import { wallet } from '../simnet/market/wallets.ts';
import { tokenAmount } from '../simnet/programs/token-state.ts';
import { createChain, type SimChain } from '../simnet/sim-chain.ts';
import { pumpSdk } from '../simnet/support/pump-sdk.ts';
import { land } from '../simnet/support/test-chain.ts';
import { fromWeb3, key } from '../simnet/support/web3.ts';
import { eventsOf, launchCoin, maker, moveToPool, setUp, tokensOf, trader, tradeIn, type QuotedCoin } from '../support/quoted-trades.ts';

/** Built, signed and sent: messages land on the simulated chain and do what their quote said, to the lamport. */
const buyer = wallet('built', 'buyer');
const user = buyer.publicKey;
const lamports = 400_000n * 10n ** 9n;
const tip = { to: wallet('built', 'tip').publicKey, lamports: 2_000_000n };
const microLamportsPerUnit = 12_345n;
const signatureFee = 5_000n;

function startChain(): SimChain {
  let now = 1_790_000_000_000;
  const funded = [maker, trader, buyer].map(({ publicKey: address }) => ({ address, lamports, usdc: 10n ** 13n }));
  return createChain({ seed: 'built', market: false, funded, nowMs: () => (now += 200) });
}

interface Opened {
  readonly pool: QuotedPool;
  readonly tokenProgram: string;
}

function openPool(chain: SimChain, { mint }: QuotedCoin): Opened {
  const assembled = assembleMarket(planMarket(mint, [...usualQuotes.keys()], venues), (address) => chain.account(address));
  if (assembled.kind !== 'market') throw new Error(JSON.stringify(assembled));
  const open = assembled.market.pools.find(({ pool }) => !pool.complete);
  if (open === undefined) throw new Error('no open pool');
  return { pool: open.pool, tokenProgram: assembled.market.tokenProgram };
}

const builder = createMessageBuilder();

interface Sent {
  readonly quote: Quote;
  readonly record: TransactionRecord;
  readonly limit: number;
  readonly trade: BuiltTrade;
}

function send(chain: SimChain, coin: QuotedCoin, trade: QuotedTrade, parts: Partial<BuildRequest> = {}, slippageBps = 0n): Sent {
  const { pool, tokenProgram: baseTokenProgram } = openPool(chain, coin);
  const outcome = pool.quote(trade);
  if (!outcome.ok) throw new Error(outcome.fault);
  const { quote } = outcome;
  const order = { user, trade, quote, ...slippageBounds(trade, quote, slippageBps), baseTokenProgram, quoteTokenProgram: tokenProgram };
  const { blockhash } = chain.latestBlockhash();
  const around = { baseAccountExists: null, closeBaseAccount: false, computeUnitLimit: null, tip };
  const built = builder.build({ pool, order, ...around, microLamportsPerUnit, blockhash, ...parts });
  const wire = assembleTransaction(built.message, [signMessage(buyer, built.message)]);
  const sent = chain.send(wire, { skipPreflight: true });
  if (!sent.ok) throw new Error(sent.message);
  chain.advance();
  const record = chain.transaction(sent.signature);
  if (record === null) throw new Error('the transaction did not land');
  return { quote, record, limit: built.computeUnitLimit, trade: built.trade };
}

function balancesOf({ record }: Sent, address: string): readonly [before: bigint, after: bigint] {
  const at = record.accountKeys.indexOf(address);
  return [record.preBalances[at]!, record.postBalances[at]!];
}

/** Lamports that the wallet must have lost beside the trade: the fee, the tip, and rent of what was made, less that of what was closed. */
function besideTrade(sent: Sent): bigint {
  const { record, limit, trade } = sent;
  const priorityFee = (microLamportsPerUnit * BigInt(limit) + 999_999n) / 1_000_000n;
  expect(record.fee).toBe(signatureFee + priorityFee);
  const [before, after] = balancesOf(sent, trade.baseAccount);
  let rent = after - before;
  for (const { address, bytes } of trade.programAccounts) {
    const isMade = balancesOf(sent, address)[0] === 0n && balancesOf(sent, address)[1] > 0n;
    if (isMade) rent += minimumBalance(bytes);
  }
  return record.fee + tip.lamports + rent;
}

function expectDone(chain: SimChain, coin: QuotedCoin, sent: Sent, tokensBefore: bigint): void {
  const { quote, record, limit } = sent;
  expect(record.err, record.logs.join('\n')).toBeNull();
  const trade = tradeIn(record);
  expect([trade.baseAmount, trade.quoteAmount, trade.fees]).toEqual([quote.baseAmount, quote.quoteAmount, quote.fees]);
  expect(trade.reserves).toEqual(quote.after);
  const sign = quote.side === 'buy' ? 1n : -1n;
  expect(tokensOf(chain, coin, user) - tokensBefore).toBe(sign * quote.baseAmount);
  const lost = record.preBalances[0]! - record.postBalances[0]!;
  const inSol = coin.quoteMint === wrappedSolMint;
  expect(lost).toBe(besideTrade(sent) + (inSol ? sign * quote.traderQuote : 0n));
  // Enough is asked for, and not as much as would be paid for in vain.
  expect(limit).toBeGreaterThan(record.unitsConsumed * 1.1);
  expect(limit).toBeLessThan(record.unitsConsumed * 5);
}

function run(chain: SimChain, coin: QuotedCoin, trade: QuotedTrade, parts: Partial<BuildRequest> = {}): Sent {
  const before = tokensOf(chain, coin, user);
  const usdcBefore = tokenAmount(chain.account(associatedTokenAddress(user, usdcMint, tokenProgram)));
  const sent = send(chain, coin, trade, parts);
  expectDone(chain, coin, sent, before);
  if (coin.quoteMint === usdcMint) {
    const usdc = tokenAmount(chain.account(associatedTokenAddress(user, usdcMint, tokenProgram)));
    expect(usdcBefore - usdc).toBe(sent.quote.side === 'buy' ? sent.quote.traderQuote : -sent.quote.traderQuote);
  }
  return sent;
}

/** The whole life of a coin, by this wallet alone. */
function live(chain: SimChain, coin: QuotedCoin, boost: boolean): void {
  const sum = coin.quoteMint === usdcMint ? 20_000_000n : 500_000_000n;
  const held = (): bigint => tokensOf(chain, coin, user);
  const sellAll = (): Sent => run(chain, coin, { exact: 'baseIn', amount: held() }, { closeBaseAccount: true });
  const base = associatedTokenAddress(user, coin.mint, coin.tokenProgram);
  for (const place of ['curve', 'pool'] as const) {
    // The first one makes what there is to make, beside its sum.
    run(chain, coin, { exact: 'quoteIn', amount: sum });
    run(chain, coin, { exact: 'baseOut', amount: 5_000_000_000n });
    run(chain, coin, { exact: 'quoteIn', amount: sum + 7n }, { baseAccountExists: true, tip: { ...tip } });
    run(chain, coin, { exact: 'baseIn', amount: held() / 3n });
    sellAll();
    expect(chain.account(base)).toBeNull();
    expect(chain.account(associatedTokenAddress(user, wrappedSolMint, tokenProgram))).toBeNull();
    if (place === 'pool') return;
    const rest = { exact: 'quoteIn', amount: sum * 10_000n } as const;
    const last = run(chain, coin, rest);
    expect(last.quote).toMatchObject({ cut: true, completes: true });
    expect(eventsOf(last.record).some(({ type }) => type === 'completed')).toBe(true);
    expect(() => openPool(chain, coin)).toThrow('no open pool');
    moveToPool(chain, coin, boost);
  }
}

const kinds: readonly (readonly [string, Partial<NewCoin>, boolean])[] = [
  ['an ordinary coin', {}, true],
  ['a mayhem coin', { mayhem: true }, false],
  ['a cashback coin', { cashback: true }, false],
  ['a holder-reward coin', { holderReward: true }, true],
  ['a coin with its own creator fee', { creatorFeeBps: 120n }, false],
  ['a coin against USDC', { quoteMint: usdcMint }, true],
  ['a cashback coin against USDC', { quoteMint: usdcMint, cashback: true }, false],
];

test.each(kinds)('%s: bought, sold, completed and traded on its pool', { timeout: 60_000 }, (_, parts, boost) => {
  const chain = startChain();
  live(chain, launchCoin(chain, parts), boost);
});

test('a coin of SPL Token: likewise', { timeout: 60_000 }, async () => {
  const chain = startChain();
  const mint = wallet('built', 'older');
  const at = key(maker.publicKey);
  const text = { name: 'Simulated old', symbol: 'SIMOLD', uri: 'https://simnet.invalid/old' };
  const create = await pumpSdk.PUMP_SDK.createInstruction({ mint: key(mint.publicKey), ...text, creator: at, user: at });
  expect(land(chain, [fromWeb3(create)], [maker, mint]).err).toBeNull();
  live(chain, setUp(chain, { mint: mint.publicKey, tokenProgram, quoteMint: wrappedSolMint, mayhem: false }), false);
});

/** The program that failed and its code, as the log's last line of it says. */
function faultOf(record: TransactionRecord): string {
  const line = record.logs.findLast((text) => text.includes('failed: custom program error: 0x')) ?? '';
  const [, program = '', code = ''] = /^Program (\w+) failed: custom program error: 0x([0-9a-f]+)$/.exec(line) ?? [];
  return venueByProgram.get(program)?.tradeFault(Number.parseInt(code, 16)) ?? `${program} ${code}`;
}

test('what the program refuses is told by its code: bounds, an ended curve, other recipients, missing tokens', () => {
  const chain = startChain();
  const coin = launchCoin(chain);
  const { pool } = openPool(chain, coin);
  const trade = { exact: 'quoteIn', amount: 1_000_000_000n } as const;
  const tighter: QuotedPool = { ...pool, build: (order) => pool.build({ ...order, minOut: order.minOut + 1n, maxIn: order.maxIn - 1n }) };
  run(chain, coin, { exact: 'baseOut', amount: 5_000_000_000n });
  const stale = openPool(chain, coin).pool;
  expect(faultOf(send(chain, coin, trade, { pool: { ...stale, build: tighter.build } }).record)).toBe('slippage');
  const more = { exact: 'baseIn', amount: tokensOf(chain, coin, user) + 1n } as const;
  expect(faultOf(send(chain, coin, more).record)).toBe('insufficient_tokens');
  const stranger: QuotedPool = {
    ...stale,
    build: (order) => {
      const built = stale.build(order);
      const accounts = built.instruction.accounts.map((meta, i) => (i === 6 ? { ...meta, address: maker.publicKey } : meta));
      return { ...built, instruction: { ...built.instruction, accounts } };
    },
  };
  expect(faultOf(send(chain, coin, { exact: 'baseOut', amount: 9n }, { pool: stranger }, 1_000n).record)).toMatch(/stale_accounts/);
  run(chain, coin, { exact: 'quoteIn', amount: 10n ** 12n });
  moveToPool(chain, coin, false);
  expect(faultOf(send(chain, coin, { exact: 'baseIn', amount: 1_000_000n }, { pool: stale }).record)).toBe('complete');
  const amm = openPool(chain, coin).pool;
  const ammTight: QuotedPool = { ...amm, build: (order) => amm.build({ ...order, minOut: order.minOut + 1n }) };
  expect(faultOf(send(chain, coin, { exact: 'baseIn', amount: 1_000_000n }, { pool: ammTight }).record)).toBe('slippage');
  expect(faultOf(send(chain, coin, trade, { pool: ammTight }).record)).toBe('slippage');
});
