import { quoteCoins } from '@sluice/shared/wire/values/money.ts';
import {
  assembleMarket,
  planMarket,
  withHints,
  type AssembledMarket,
  type MarketPlan,
  type TokenMarket,
} from '@sluice/gateway/reads/pools/quoted-market.ts';
import type { KnownPool } from '@sluice/shared/market/pools/pool-directory.ts';
import { simulatedAmounts } from '../../trading/src/nodes/simulate/simulated-amounts.ts';
import { createMessageBuilder, type BuildRequest, type BuiltMessage } from '../../trading/src/prepare/message-builder.ts';
import { canPay, needOf, outlayOf, type Outlay } from '../../trading/src/prepare/outlay.ts';
import { signMessage } from '@sluice/shared/solana/addresses/keypair.ts';
import { readLogs } from '@sluice/shared/solana/transaction/logs.ts';
import { associatedTokenAddress } from '@sluice/shared/solana/addresses/pda.ts';
import { assembleTransaction, decodeTransaction } from '@sluice/shared/solana/transaction/transaction.ts';
import { decodeTokenAccount, tokenAccountBytes } from '@sluice/shared/solana/tokens/token-account.ts';
import { systemProgram, tokenProgram, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { slippageBounds, type Quote, type QuotedPool, type QuotedTrade } from '@sluice/venues/seam/quoting.ts';
import { venueByProgram, venues } from '@sluice/venues/registry.ts';
import { expect } from 'vitest';
import { minimumBalance } from '../simnet/ledger/rent.ts';
import { transferInstruction } from '../simnet/programs/system.ts';
import { signTransaction, wallet } from '../simnet/runtime/wallets.ts';
import { createChain, type SimChain } from '../simnet/sim-chain.ts';
import { maker, trader, type QuotedCoin } from '../support/chain/quoted-trades.ts';
import { decodeWith, plainQuote, type FeesByKind, type PlainEvent } from '../support/events/decoded.ts';
import { atAnyTime } from '../support/chain/quote-moment.ts';

/** Trades that one wallet builds and signs. They are executed and compared with their quotes to the lamport. */
const buyer = wallet('built', 'buyer');
export const user = buyer.publicKey;
const tip = { to: wallet('built', 'tip').publicKey, lamports: 2_000_000n };
const microLamportsPerUnit = 12_345n;
const signatureFee = 5_000n;
const wrappingRent = minimumBalance(tokenAccountBytes);
const lamports = 400_000n * 10n ** 9n;

interface WorldAccount {
  readonly lamports: bigint;
  readonly owner: string;
  readonly data: Uint8Array;
}

export interface Executed {
  readonly failed: boolean;
  readonly logs: readonly string[];
  readonly units: number;
}

/** Where trades are executed: the simulated chain, or the real programs. */
export interface World {
  account(address: string): WorldAccount | null;
  /** A blockhash that no message has used yet. */
  newBlockhash(): string;
  send(wire: Uint8Array): Executed;
  /** Whether a transaction of the wallet would pass if the wallet had this balance. */
  passesWith(wallet: typeof user, balance: bigint, wire: Uint8Array): boolean;
}

/** A chain without a market; the wallet has SOL and USDC. */
export function startChain(): SimChain {
  let now = 1_790_000_000_000;
  const funded = [maker, trader, buyer].map(({ publicKey: address }) => ({ address, lamports, usdc: 10n ** 13n }));
  return createChain({ seed: 'built', market: false, funded, nowMs: () => (now += 200) });
}

export function simulated(chain: SimChain): World {
  return {
    account: (address) => chain.account(address),
    newBlockhash: () => chain.latestBlockhash().blockhash,
    send(wire) {
      const sent = chain.send(wire, { skipPreflight: true });
      if (!sent.ok) throw new Error(sent.message);
      chain.advance();
      const record = chain.transaction(sent.signature);
      if (record === null) throw new Error('the transaction did not land');
      return { failed: record.err !== null, logs: record.logs, units: record.unitsConsumed };
    },
    passesWith(_wallet, balance, wire) {
      const { lamports: before } = chain.account(user)!;
      setBalance(chain, balance);
      const { err } = chain.simulate(wire);
      setBalance(chain, before);
      return err === null;
    },
  };
}

/** Takes lamports from the wallet, or gives it some. */
function setBalance(chain: SimChain, balance: bigint): void {
  const { lamports: held } = chain.account(user)!;
  if (balance > held) chain.airdrop(user, balance - held);
  else chain.send(drain(chain, held - balance), { skipPreflight: true });
  chain.advance();
  expect(chain.account(user)?.lamports).toBe(balance);
}

function drain(chain: SimChain, amount: bigint): Uint8Array {
  const instructions = [transferInstruction(user, maker.publicKey, amount - signatureFee)];
  return signTransaction({ version: 0, recentBlockhash: chain.latestBlockhash().blockhash, instructions, signers: [buyer] });
}

export interface OpenPool {
  readonly venue: string;
  readonly pool: QuotedPool;
}

/** The open pool of a coin, from the world's accounts, read as by `POST /quote`. */
export function openPoolOf(world: World, coin: KnownCoin): OpenPool {
  const open = marketOf(world, coin).pools.find(({ pool }) => !pool.complete);
  if (open === undefined) throw new Error('no open pool');
  return { venue: open.venue.name, pool: open.pool };
}

/** A coin of a pool that the directory names. */
interface KnownCoin extends QuotedCoin {
  readonly known?: readonly KnownPool[];
}

function marketOf(world: World, { mint, quoteMint, known: pools = [] }: KnownCoin): TokenMarket {
  const known = new Set([...quoteCoins.keys(), quoteMint]);
  const assemble = (plan: MarketPlan): AssembledMarket => assembleMarket(plan, (address) => world.account(address));
  const first = assemble(withHints(planMarket(mint, [...known], venues), pools, venues));
  const assembled = first.kind === 'further' ? assemble(first.plan) : first;
  if (assembled.kind !== 'market') throw new Error(JSON.stringify(assembled));
  return assembled.market;
}

const quoteProgramOf = (world: World, { quoteMint }: QuotedCoin): string => world.account(quoteMint)!.owner;

const builder = createMessageBuilder();

interface SignedTrade {
  readonly wire: Uint8Array;
  readonly quote: Quote;
  readonly built: BuiltMessage;
  /** The accounts that the trade may create, grow or close, in their state before it. */
  readonly before: ReadonlyMap<string, WorldAccount | null>;
  readonly outlay: Outlay;
}

export type SentTrade = Executed & SignedTrade;

/** Sends a trade with bounds equal to its quote. `parts` may contain an earlier state of the pool. */
export function sendTrade(world: World, coin: KnownCoin, trade: QuotedTrade, parts: Partial<BuildRequest> = {}): SentTrade {
  const signed = signTrade(world, coin, trade, parts);
  return { ...world.send(signed.wire), ...signed };
}

function signTrade(world: World, coin: KnownCoin, trade: QuotedTrade, parts: Partial<BuildRequest>): SignedTrade {
  const market = marketOf(world, coin);
  const pool = parts.pool ?? openPoolOf(world, coin).pool;
  const outcome = pool.quote(trade, atAnyTime);
  if (!outcome.ok) throw new Error(outcome.fault);
  const { quote } = outcome;
  const order = {
    user,
    trade,
    quote,
    ...slippageBounds(trade, quote, 0n),
    baseTokenProgram: coin.tokenProgram,
    quoteTokenProgram: quoteProgramOf(world, coin),
    baseAccountBytes: market.accountBytes,
    quoteAccountBytes: market.pools[0]!.quoteAccountBytes,
  };
  const requestedTips = [{ accounts: [tip.to], lamports: tip.lamports }];
  const known = { baseAccountExists: null, wrappedSolExists: null, wrappingRent, computeUnitLimit: null };
  const around = { ...known, requestedTips, microLamportsPerUnit };
  const built = builder.build({ pool, order, blockhash: world.newBlockhash(), ...around, ...parts });
  const { baseAccount, programAccounts } = built.trade;
  const addresses = [baseAccount, ...programAccounts.map(({ address }) => address)];
  const before = new Map(addresses.map((address) => [address, world.account(address)]));
  const wire = assembleTransaction(built.message, [signMessage(buyer, built.message)]);
  const fee = signatureFee + priorityFeeOf(built);
  const outlay = outlayOf({ built, quote, maxIn: order.maxIn, fee, rent: minimumBalance }, (address) => unownedAt(world, address));
  return { wire, quote, built, before, outlay };
}

function unownedAt(world: World, address: string): bigint | null {
  const account = world.account(address);
  return account === null ? 0n : account.owner === systemProgram ? account.lamports : null;
}

const priorityFeeOf = ({ computeUnitLimit }: BuiltMessage): bigint =>
  (microLamportsPerUnit * BigInt(computeUnitLimit) + 999_999n) / 1_000_000n;

/** A wallet with exactly what is needed can trade; with a lamport less it cannot. What `canPay` says of other balances is true, too. */
function expectExactNeed(world: World, { wire, outlay }: SignedTrade): void {
  const ownRent = minimumBalance(0);
  const need = needOf(outlay, ownRent);
  const { fee, most, all } = outlay;
  // No wallet on the chain has less than its own rent.
  const others = [fee, fee + most, fee + all, fee + all + ownRent, fee + ownRent].filter((balance) => balance >= ownRent);
  for (const balance of new Set([need, need - 1n, need + 1n, ...others])) {
    expect(world.passesWith(user, balance, wire), `with ${balance} of ${need}`).toBe(canPay(outlay, ownRent, balance));
  }
  expect([canPay(outlay, ownRent, need), canPay(outlay, ownRent, need - 1n)]).toEqual([true, false]);
}

function eventsIn({ logs }: Executed): readonly PlainEvent[] {
  const events: PlainEvent[] = [];
  readLogs(logs, (programId, _path, data) => {
    const decoded = decodeWith(programId, data);
    if (decoded?.kind === 'decoded') events.push(decoded.event);
  });
  return events;
}

const amountAt = 64;
function tokensAt(world: World, address: string): bigint {
  const account = world.account(address);
  return account === null ? 0n : Buffer.from(account.data).readBigUInt64LE(amountAt);
}
export const tokensHeld = (world: World, { mint, tokenProgram: program }: QuotedCoin): bigint =>
  tokensAt(world, associatedTokenAddress(user, mint, program));
/** The balance of the quote coin; SOL is wrapped only during a trade. */
const quoteHeld = (world: World, coin: QuotedCoin): bigint =>
  tokensAt(world, associatedTokenAddress(user, coin.quoteMint, quoteProgramOf(world, coin)));
const lamportsAt = (world: World, address: string): bigint => world.account(address)?.lamports ?? 0n;

/**
 * Lamports that the wallet must have lost besides the trade: the fee, the tip, and the rent of created accounts, less that of closed ones.
 */
function besideTrade(world: World, { built, before }: SentTrade): bigint {
  const { trade } = built;
  let rent = lamportsAt(world, trade.baseAccount) - (before.get(trade.baseAccount)?.lamports ?? 0n);
  for (const { address, bytes, grows } of trade.programAccounts) {
    const [old, now] = [before.get(address) ?? null, world.account(address)];
    if (grows === null && now !== null && (old === null || old.owner === systemProgram)) {
      const held = old?.lamports ?? 0n;
      if (held < minimumBalance(bytes)) rent += minimumBalance(bytes) - held;
    } else if (grows !== null && now!.data.length > grows.from && minimumBalance(bytes) > grows.rent)
      rent += minimumBalance(bytes) - grows.rent;
  }
  const tips = built.tips.reduce((sum, { lamports: one }) => sum + one, 0n);
  return signatureFee + priorityFeeOf(built) + tips + rent;
}

/** For a coin without a creator, the program reports a rate although nobody is paid. */
function amountsOf({ protocol, creator, lp, cashback, holderRewards, total }: FeesByKind): unknown {
  const parts = { protocol, creator, lp, cashback, holderRewards };
  return { ...Object.fromEntries(Object.entries(parts).map(([name, { amount }]) => [name, { amount }])), total };
}

/**
 * Trades, and expects exactly what was quoted: tokens, quote coins, fees, reserves, lamports, the balance that the wallet needs, and compute units
 * within the requested limit.
 */
export function tradeAsQuoted(world: World, coin: KnownCoin, trade: QuotedTrade, parts: Partial<BuildRequest> = {}): SentTrade {
  const [tokens, quoteBefore, held] = [tokensHeld(world, coin), quoteHeld(world, coin), lamportsAt(world, user)];
  const signed = signTrade(world, coin, trade, parts);
  expectExactNeed(world, signed);
  const sent = { ...world.send(signed.wire), ...signed };
  const { quote, logs, built } = sent;
  expect(sent.failed, logs.join('\n')).toBe(false);
  const { baseAmount } = quote;
  if (coin.known === undefined) {
    const event = eventsIn(sent).find(({ type }) => type === 'trade');
    const { quoteAmount, fees, after } = plainQuote(quote);
    expect(event).toMatchObject({ side: quote.side, trader: user, baseAmount, quoteAmount, fees: amountsOf(fees), reserves: after });
  } else {
    expect(openPoolOf(world, coin).pool.reserves).toEqual(quote.after);
    // What the simulation of this transaction would show.
    const expected = { ...quote, trader: user, mint: coin.mint, poolAddress: coin.known[0]!.address, isHidden: false };
    const balances = tokenBalancesIn(world, sent);
    expect(simulatedAmounts({ logs, ...balances }, sent.wire, expected)).toEqual({ baseAmount, traderQuote: quote.traderQuote });
  }
  const sign = quote.side === 'buy' ? 1n : -1n;
  expect(tokensHeld(world, coin) - tokens).toBe(sign * baseAmount);
  const inSol = coin.quoteMint === wrappedSolMint;
  expect(quoteBefore - quoteHeld(world, coin)).toBe(inSol ? 0n : sign * quote.traderQuote);
  expect(held - lamportsAt(world, user)).toBe(besideTrade(world, sent) + (inSol ? sign * quote.traderQuote : 0n));
  // The limit is sufficient, and not wastefully high.
  expect(built.computeUnitLimit).toBeGreaterThan(sent.units * 1.1);
  expect(built.computeUnitLimit).toBeLessThan(sent.units * 3.5);
  return sent;
}

/** The token accounts of a transaction as an answer of a node lists them. Of the vaults, only the coins are right. */
function tokenBalancesIn(world: World, { wire, before }: SentTrade): Readonly<Record<string, unknown>> {
  const decoded = decodeTransaction(wire);
  if (decoded.kind === 'malformed') throw new Error(decoded.reason);
  const list = (at: (address: string) => WorldAccount | null): unknown[] =>
    decoded.accountKeys.flatMap((address, accountIndex) => {
      const account = at(address);
      const token = account === null ? null : decodeTokenAccount(account.owner, account.data);
      if (token === null) return [];
      return [{ accountIndex, mint: token.mint, owner: token.owner, uiTokenAmount: { amount: String(token.amount), decimals: 6 } }];
    });
  const now = (address: string): WorldAccount | null => world.account(address);
  return {
    preTokenBalances: list((address) => (before.has(address) ? before.get(address)! : now(address))),
    postTokenBalances: list(now),
  };
}

/** The meaning of the failure; the innermost program, which failed first, reports it. */
export function faultOf({ logs }: Executed): string {
  const line = logs.find((text) => text.includes('failed: custom program error: 0x')) ?? '';
  const [, program = '', code = ''] = /^Program (\w+) failed: custom program error: 0x([0-9a-f]+)$/.exec(line) ?? [];
  return venueByProgram.get(program)?.tradeFault(Number.parseInt(code, 16)) ?? `${program} ${code}`;
}

/** A pool that builds like this one, with a changed instruction or changed bounds. */
export function changed(
  pool: QuotedPool,
  build: (order: Parameters<QuotedPool['build']>[0]) => ReturnType<QuotedPool['build']>,
): QuotedPool {
  return { ...pool, build };
}

/** Buys and sells of every form. The last one sells everything; the token account stays open. */
export function tradeAll(world: World, coin: KnownCoin): void {
  const sum = coin.quoteMint === wrappedSolMint ? 500_000_000n : 20_000_000n;
  // The first one also creates the missing accounts.
  tradeAsQuoted(world, coin, { exact: 'quoteIn', amount: sum });
  tradeAsQuoted(world, coin, { exact: 'baseOut', amount: 5_000_000_000n });
  // With room for a tip in every message.
  const tipped = tradeAsQuoted(world, coin, { exact: 'quoteIn', amount: sum + 7n }, { baseAccountExists: true, wrappedSolExists: false });
  expect(tipped.built.tips).toEqual([tip]);
  tradeAsQuoted(world, coin, { exact: 'baseIn', amount: tokensHeld(world, coin) / 3n });
  tradeAsQuoted(world, coin, { exact: 'baseIn', amount: tokensHeld(world, coin) });
  expect(tokensHeld(world, coin)).toBe(0n);
  expect(world.account(associatedTokenAddress(user, wrappedSolMint, tokenProgram))).toBeNull();
}

/** Offers far more than the curve can sell: the curve sells the rest, and is complete. */
export function buyTheRest(world: World, coin: QuotedCoin): void {
  const amount = coin.quoteMint === wrappedSolMint ? 10n ** 14n : 10n ** 12n;
  const last = tradeAsQuoted(world, coin, { exact: 'quoteIn', amount });
  expect(last.quote).toMatchObject({ cut: true, completes: true });
  expect(eventsIn(last).some(({ type }) => type === 'completed')).toBe(true);
  expect(() => openPoolOf(world, coin)).toThrow('no open pool');
}
