import { quoteCoins } from '@sluice/shared/money.ts';
import { assembleMarket, planMarket } from '@sluice/gateway/pools/quoted-market.ts';
import { createMessageBuilder, type BuildRequest, type BuiltMessage } from '@sluice/gateway/orders/prepare/message-builder.ts';
import { signMessage } from '@sluice/shared/solana/keypair.ts';
import { readLogs } from '@sluice/shared/solana/transaction/logs.ts';
import { associatedTokenAddress } from '@sluice/shared/solana/pda.ts';
import { assembleTransaction } from '@sluice/shared/solana/transaction/transaction.ts';
import { tokenAccountBytes } from '@sluice/shared/solana/transaction/temporary-sol.ts';
import { tokenProgram, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { slippageBounds, type Quote, type QuotedPool, type QuotedTrade } from '@sluice/shared/venues/quoting.ts';
import { venueByProgram, venues } from '@sluice/shared/venues/registry.ts';
import { expect } from 'vitest';
import { minimumBalance } from '../simnet/ledger/rent.ts';
import { wallet } from '../simnet/runtime/wallets.ts';
import { createChain, type SimChain } from '../simnet/sim-chain.ts';
import { maker, trader, type QuotedCoin } from '../support/chain/quoted-trades.ts';
import { decodeWith, plainQuote, type FeesByKind, type PlainEvent } from '../support/events/decoded.ts';

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
  };
}

export interface OpenPool {
  readonly venue: string;
  readonly pool: QuotedPool;
}

/** The open pool of a coin, from the world's accounts, read as by `POST /quote`. */
export function openPoolOf(world: World, { mint, quoteMint }: QuotedCoin): OpenPool {
  const known = new Set([...quoteCoins.keys(), quoteMint]);
  const assembled = assembleMarket(planMarket(mint, [...known], venues), (address) => world.account(address));
  if (assembled.kind !== 'market') throw new Error(JSON.stringify(assembled));
  const open = assembled.market.pools.find(({ pool }) => !pool.complete);
  if (open === undefined) throw new Error('no open pool');
  return { venue: open.venue.name, pool: open.pool };
}

const quoteProgramOf = (world: World, { quoteMint }: QuotedCoin): string => world.account(quoteMint)!.owner;

const builder = createMessageBuilder();

export interface SentTrade extends Executed {
  readonly quote: Quote;
  readonly built: BuiltMessage;
  /** The accounts that the trade may create, grow or close, in their state before it. */
  readonly before: ReadonlyMap<string, WorldAccount | null>;
}

/** Sends a trade with bounds equal to its quote. `parts` may contain an earlier state of the pool. */
export function sendTrade(world: World, coin: QuotedCoin, trade: QuotedTrade, parts: Partial<BuildRequest> = {}): SentTrade {
  const pool = parts.pool ?? openPoolOf(world, coin).pool;
  const outcome = pool.quote(trade);
  if (!outcome.ok) throw new Error(outcome.fault);
  const { quote } = outcome;
  const order = {
    user,
    trade,
    quote,
    ...slippageBounds(trade, quote, 0n),
    baseTokenProgram: coin.tokenProgram,
    quoteTokenProgram: quoteProgramOf(world, coin),
  };
  const requestedTips = [{ accounts: [tip.to], lamports: tip.lamports }];
  const known = { baseAccountExists: null, wrappedSolExists: null, wrappingRent, computeUnitLimit: null };
  const around = { ...known, requestedTips, microLamportsPerUnit };
  const built = builder.build({ pool, order, blockhash: world.newBlockhash(), ...around, ...parts });
  const { baseAccount, programAccounts } = built.trade;
  const addresses = [baseAccount, ...programAccounts.map(({ address }) => address)];
  const before = new Map(addresses.map((address) => [address, world.account(address)]));
  return { ...world.send(assembleTransaction(built.message, [signMessage(buyer, built.message)])), quote, built, before };
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
  const { trade, computeUnitLimit } = built;
  const priorityFee = (microLamportsPerUnit * BigInt(computeUnitLimit) + 999_999n) / 1_000_000n;
  let rent = lamportsAt(world, trade.baseAccount) - (before.get(trade.baseAccount)?.lamports ?? 0n);
  for (const { address, bytes, grownFrom } of trade.programAccounts) {
    const [old, now] = [before.get(address) ?? null, world.account(address)];
    if (old === null && now !== null) rent += minimumBalance(bytes);
    else if (grownFrom !== null && now!.data.length > grownFrom) rent += minimumBalance(bytes) - minimumBalance(grownFrom);
  }
  const tips = built.tips.reduce((sum, { lamports: one }) => sum + one, 0n);
  return signatureFee + priorityFee + tips + rent;
}

/** For a coin without a creator, the program reports a rate although nobody is paid. */
function amountsOf({ protocol, creator, lp, cashback, holderRewards, total }: FeesByKind): unknown {
  const parts = { protocol, creator, lp, cashback, holderRewards };
  return { ...Object.fromEntries(Object.entries(parts).map(([name, { amount }]) => [name, { amount }])), total };
}

/**
 * Trades, and expects exactly what was quoted: tokens, quote coins, fees, reserves, lamports, and compute units within the requested limit.
 */
export function tradeAsQuoted(world: World, coin: QuotedCoin, trade: QuotedTrade, parts: Partial<BuildRequest> = {}): SentTrade {
  const [tokens, quoteBefore, held] = [tokensHeld(world, coin), quoteHeld(world, coin), lamportsAt(world, user)];
  const sent = sendTrade(world, coin, trade, parts);
  const { quote, logs, built } = sent;
  expect(sent.failed, logs.join('\n')).toBe(false);
  const event = eventsIn(sent).find(({ type }) => type === 'trade');
  const { baseAmount, quoteAmount, fees, after } = plainQuote(quote);
  expect(event).toMatchObject({ side: quote.side, trader: user, baseAmount, quoteAmount, fees: amountsOf(fees), reserves: after });
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
export function tradeAll(world: World, coin: QuotedCoin): void {
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
