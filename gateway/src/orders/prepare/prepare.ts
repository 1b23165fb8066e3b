import { tokenAddress } from '@sluice/shared/solana/derived.ts';
import { wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { tokenAccountBytes } from '@sluice/shared/solana/transaction/temporary-sol.ts';
import { associatedAccountBytes } from '@sluice/shared/venues/trading.ts';
import type { QuoteObject } from '@sluice/shared/wire/rest/quote.ts';
import { quoteOfOrder } from '../../quote/answer.ts';
import { wrongFields, type QuotedOrder, type QuoteRefusal } from '../../quote/best-quote.ts';
import type { BuiltMessage, MessageBuilder } from './message-builder.ts';
import { priceOrder, requestedTips, unavailable, type PriceParts, type TradeInputs } from './quote-order.ts';
import { lamportsOfSignature, pricePerUnit, priorityFeeOf, type TradeRequest } from './request.ts';
import type { FailureTerms } from '../simulate/failure.ts';
import type { ExpectedTrade } from '../simulate/simulated-amounts.ts';
import type { Blockhash } from '../state/chain/blockhashes.ts';
import { awaitMarket } from '../state/await-market.ts';
import type { HotState } from '../state/hot-state.ts';
import type { WalletRead } from '../state/hot-wallets.ts';

/** A trade that only needs a signature: its quote and its message. */
export interface PreparedTrade {
  readonly quoted: QuotedOrder;
  readonly bounds: { readonly minOut: bigint; readonly maxIn: bigint };
  readonly built: BuiltMessage;
  readonly blockhash: Blockhash;
  readonly priorityFeeLamports: bigint;
  /** All tips in the message. */
  readonly tipLamports: bigint;
  /** Slot of the state under the quote. */
  readonly slot: number;
  /** Bit mask of endpoints that alone reported a part of that state; 0 if two reported all of it, or only one is configured. */
  readonly soleSources: number;
  /** The trade that the simulation must show. */
  readonly expected: ExpectedTrade;
  /** Most lamports that the trade takes from the wallet, with rent. */
  readonly lamportsNeeded: bigint;
  /** Context for the report of a failure. */
  readonly terms: FailureTerms;
  /** The quote of the same trade on the state of this slot or a later one; null if that state does not arrive soon. */
  readonly quoteFrom: (slot: number) => Promise<LaterQuote | null>;
  readonly quoteMs: number;
  readonly buildMs: number;
}

export interface LaterQuote {
  /** What the trade would give, or cost if the amount to receive is exact. */
  readonly actual: bigint;
  readonly quote: QuoteObject;
}

export interface PrepareParts extends PriceParts {
  readonly state: PriceParts['state'] & Pick<HotState, 'freshBlockhash' | 'feeLevel' | 'rent'>;
  readonly builder: MessageBuilder;
}

/** Quotes on state that two endpoints report, because no simulation will confirm it. Rejects with an `RpcError`. */
export async function prepareAgreed(request: TradeRequest, parts: PrepareParts): Promise<PreparedTrade | QuoteRefusal> {
  const prepared = await prepareTrade(request, parts);
  if ('error' in prepared || prepared.soleSources === 0) return prepared;
  const again = await prepareTrade(request, parts, true);
  if ('error' in again || again.soleSources === 0) return again;
  return unavailable(
    'Only one node reports the state that this order depends on, and no simulation would confirm it. Leave out `skipSimulation`.',
  );
}

/**
 * Quotes and builds on the state in memory, and reads the rest from the chain. With `agreed`, reads state that two endpoints report.
 * Rejects with an `RpcError`.
 */
export async function prepareTrade(request: TradeRequest, parts: PrepareParts, agreed = false): Promise<PreparedTrade | QuoteRefusal> {
  const { state, builder } = parts;
  const startedMs = performance.now();
  const priced = await priceOrder(request, parts, agreed);
  if ('error' in priced) return priced;
  const found = state.freshBlockhash();
  const blockhash = found instanceof Promise ? await found : found;
  if (blockhash === null) return unavailable('No blockhash is known that is young enough.');
  const { inputs, quoted, bounds } = priced;
  const { market, baseAccount, wrappedSolExists } = inputs;
  const quotedMs = performance.now();
  const { pool, trade, quote } = quoted;
  const { publicKey, priorityFeeLamports: fixed, blockEngineOnly = false } = request;
  const tips = requestedTips(request, parts);
  const wrappingRent = state.rent(tokenAccountBytes);
  if (wrappingRent === null) return unknownRent;
  const built = builder.build({
    pool,
    order: {
      user: publicKey,
      trade,
      quote,
      ...bounds,
      baseTokenProgram: quoted.market.tokenProgram,
      quoteTokenProgram: quoted.quoteTokenProgram,
    },
    microLamportsPerUnit: ({ computeUnitLimit, writableAccounts }) =>
      fixed === null ? state.feeLevel(writableAccounts) : pricePerUnit(fixed, computeUnitLimit),
    blockhash: blockhash.blockhash,
    baseAccountExists: baseAccount !== null,
    wrappedSolExists,
    wrappingRent,
    computeUnitLimit: null,
    requestedTips: tips,
  });
  if (blockEngineOnly && built.tips.length < tips.length) {
    return wrongFields({ jitoOnly: 'is not possible, because the transaction has no room for the tip of the block engine' });
  }
  const rent = rentOf(built, baseAccount === null ? quoted.market.tokenProgram : null, state);
  const ownRent = state.rent(0);
  if (rent === null || ownRent === null) return unknownRent;
  const tipLamports = built.tips.reduce((sum, { lamports }) => sum + lamports, 0n);
  const priorityFeeLamports = priorityFeeOf(built.microLamportsPerUnit, built.computeUnitLimit);
  const lamportsNeeded = lamportsOf(quoted, bounds.maxIn, priorityFeeLamports + tipLamports, rent);
  return {
    quoted,
    bounds,
    built,
    blockhash,
    priorityFeeLamports,
    tipLamports,
    slot: market.slot,
    soleSources: market.soleSources,
    expected: {
      trader: publicKey,
      side: request.order.side,
      mint: request.order.mint,
      poolAddress: pool.address,
      baseAmount: quote.baseAmount,
      traderQuote: quote.traderQuote,
    },
    lamportsNeeded,
    terms: termsOf(quoted, { inputs, bounds, lamportsToHave: lamportsNeeded + ownRent, publicKey }),
    quoteFrom: (slot) => quoteFrom(slot, quoted, request, state),
    quoteMs: quotedMs - startedMs,
    buildMs: performance.now() - quotedMs,
  };
}

const unknownRent = unavailable('The rent of accounts is not known.');

interface Balances {
  readonly inputs: TradeInputs;
  readonly bounds: PreparedTrade['bounds'];
  /** With the rent that must stay in the wallet's own account. */
  readonly lamportsToHave: bigint;
  readonly publicKey: string;
}

/** Context for the report of a failure. */
function termsOf(quoted: QuotedOrder, { inputs, bounds, lamportsToHave, publicKey }: Balances): FailureTerms {
  const { market, quote, quoteDecimals, trade } = quoted;
  const { wallet, baseAccount } = inputs;
  const isSell = trade.exact === 'baseIn';
  const byCost = trade.exact === 'baseOut';
  return {
    side: isSell ? 'sell' : 'buy',
    quoted: isSell || byCost ? quote.traderQuote : quote.baseAmount,
    bound: byCost ? bounds.maxIn : bounds.minOut,
    lamports: { have: wallet.lamports, need: lamportsToHave },
    tokens: isSell
      ? { have: baseAccount?.amount ?? 0n, need: trade.amount, decimals: market.decimals }
      : { decimals: quoteDecimals, ...quoteCoins(quoted, publicKey, wallet, bounds.maxIn) },
  };
}

async function quoteFrom(
  slot: number,
  quoted: QuotedOrder,
  { order }: TradeRequest,
  state: PrepareParts['state'],
): Promise<LaterQuote | null> {
  const { trade } = quoted;
  const read = await awaitMarket(state, order.mint, (market) => market.slot >= slot);
  if (read?.result.kind !== 'market') return null;
  const { market } = read.result;
  const later = market.pools.find(({ pool }) => pool.address === quoted.pool.address);
  const outcome = later?.pool.quote(trade);
  if (later === undefined || outcome?.ok !== true) return null;
  const { quote } = outcome;
  const actual = trade.exact === 'quoteIn' ? quote.baseAmount : quote.traderQuote;
  return { actual, quote: quoteOfOrder(order, { ...later, market, trade, quote }) };
}

function quoteCoins({ pool, quoteTokenProgram }: QuotedOrder, publicKey: string, { tokenAccounts }: WalletRead, need: bigint) {
  if (pool.quoteMint === wrappedSolMint) return { have: null, need: null };
  const account = tokenAddress(publicKey, pool.quoteMint, quoteTokenProgram);
  return { have: tokenAccounts.get(account)?.amount ?? 0n, need };
}

/** Most rent that the transaction pays: accounts of the program may exist already. Lamports; null if the rent rates are unknown. */
function rentOf(
  { trade: { programAccounts, quoteAccount, quoteMint } }: BuiltMessage,
  makesAccountOf: string | null,
  state: PrepareParts['state'],
): bigint | null {
  const wrapped = quoteAccount !== null && quoteMint === wrappedSolMint ? [tokenAccountBytes] : [];
  const made = makesAccountOf === null ? [] : [associatedAccountBytes(makesAccountOf)];
  const rent = (all: readonly number[]): bigint | null =>
    all.reduce<bigint | null>((sum, bytes) => {
      const one = state.rent(bytes);
      return sum === null || one === null ? null : sum + one;
    }, 0n);
  const paid = rent(programAccounts.flatMap(({ grownFrom }) => (grownFrom === null ? [] : [grownFrom])));
  const due = rent([...wrapped, ...made, ...programAccounts.map(({ bytes }) => bytes)]);
  return due === null || paid === null ? null : due - paid;
}

function lamportsOf({ pool: { quoteMint }, trade: { exact } }: QuotedOrder, maxIn: bigint, fees: bigint, rent: bigint): bigint {
  const spent = exact !== 'baseIn' && quoteMint === wrappedSolMint ? maxIn : 0n;
  return spent + lamportsOfSignature + fees + rent;
}
