import { tokenAddress } from '@sluice/shared/solana/addresses/derived.ts';
import { solDecimals, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { tokenAccountBytes } from '@sluice/shared/solana/tokens/token-account.ts';
import type { QuoteObject } from '@sluice/shared/wire/rest/trading/quote.ts';
import { quoteOfOrder } from '../quote/answer.ts';
import { tooLittle, unixSeconds, wrongFields, type QuotedOrder, type QuoteRefusal } from '../quote/best-quote.ts';
import type { BuiltMessage, MessageBuilder } from './message-builder.ts';
import { canPay, needOf, outlayOf, payableAccounts, type LamportsAt, type OutlayTerms } from './outlay.ts';
import { priceOrder, requestedTips, unavailable, type PriceParts, type TradeInputs } from './quote-order.ts';
import { lamportsOfSignature, pricePerUnit, priorityFeeOf, type TradeRequest } from './request.ts';
import type { MarketRead } from '../quote/markets.ts';
import { readUntil } from '../quote/sole-sources.ts';
import type { FailureTerms } from '../nodes/simulate/failure.ts';
import type { ExpectedTrade } from '../nodes/simulate/simulated-amounts.ts';
import type { Blockhash } from '../state/chain/blockhashes.ts';
import { rentOf } from '../state/chain/rent.ts';
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
  /** What decides how many lamports it takes. */
  readonly outlay: OutlayTerms;
  /** The refusal if the wallet has too few lamports for the trade at its quote, exact to the lamport. Rejects with an `RpcError`. */
  readonly lamportsFault: () => Promise<QuoteRefusal | null>;
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

/** Quotes and builds on the state in memory; with `agreed`, on state that two endpoints report. Rejects with an `RpcError`. */
export async function prepareTrade(request: TradeRequest, parts: PrepareParts, agreed = false): Promise<PreparedTrade | QuoteRefusal> {
  const { state, builder } = parts;
  const startedMs = performance.now();
  const priced = await priceOrder(request, parts, agreed);
  if ('error' in priced) return priced;
  const found = state.blockhashes.fresh();
  const blockhash = found instanceof Promise ? await found : found;
  if (blockhash === null) return unavailable('No blockhash is known that is young enough.');
  const { inputs, quoted, bounds } = priced;
  const { market, baseAccount, wrappedSolExists } = inputs;
  const quotedMs = performance.now();
  const { pool, trade, quote } = quoted;
  const { publicKey, priorityFeeLamports: fixed, blockEngineOnly = false } = request;
  const tips = requestedTips(request, parts);
  const { rates } = state.rent;
  if (rates === null) return unavailable('The rent of accounts is not known.');
  const rent = (bytes: number): bigint => rentOf(rates, bytes);
  const built = builder.build({
    pool,
    order: {
      user: publicKey,
      trade,
      quote,
      ...bounds,
      baseTokenProgram: quoted.market.tokenProgram,
      quoteTokenProgram: quoted.quoteTokenProgram,
      baseAccountBytes: quoted.market.accountBytes,
      quoteAccountBytes: quoted.quoteAccountBytes,
    },
    microLamportsPerUnit: ({ computeUnitLimit, writableAccounts }) =>
      fixed === null ? state.fees.level(writableAccounts) : pricePerUnit(fixed, computeUnitLimit),
    blockhash: blockhash.blockhash,
    baseAccountExists: baseAccount !== null,
    wrappedSolExists,
    wrappingRent: rent(tokenAccountBytes),
    computeUnitLimit: null,
    requestedTips: tips,
  });
  if (blockEngineOnly && built.tips.length < tips.length) {
    return wrongFields({ jitoOnly: 'is not possible, because the transaction has no room for the tip of the block engine' });
  }
  const tipLamports = built.tips.reduce((sum, { lamports }) => sum + lamports, 0n);
  const priorityFeeLamports = priorityFeeOf(built.microLamportsPerUnit, built.computeUnitLimit);
  const outlay: OutlayTerms = { built, quote, maxIn: bounds.maxIn, fee: lamportsOfSignature + priorityFeeLamports, rent };
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
      isHidden: quoted.venue.needsTransaction,
    },
    lamportsNeeded: mostTaken(outlay),
    outlay,
    lamportsFault: () => lamportsFault(outlay, inputs.wallet, publicKey, state),
    terms: failureTerms(request, quoted, inputs, bounds),
    quoteFrom: (slot) => quoteFrom(slot, quoted, request, parts),
    quoteMs: quotedMs - startedMs,
    buildMs: performance.now() - quotedMs,
  };
}

/** Context for the report of a failure. */
function failureTerms(
  { order: { mint }, publicKey }: TradeRequest,
  quoted: QuotedOrder,
  { wallet, baseAccount }: TradeInputs,
  bounds: PreparedTrade['bounds'],
): FailureTerms {
  const { market, quote, quoteDecimals, trade } = quoted;
  const isSell = trade.exact === 'baseIn';
  const byCost = trade.exact === 'baseOut';
  return {
    side: isSell ? 'sell' : 'buy',
    quoted: isSell || byCost ? quote.traderQuote : quote.baseAmount,
    bound: byCost ? bounds.maxIn : bounds.minOut,
    tokens: isSell
      ? { mint, have: baseAccount?.amount ?? 0n, need: trade.amount, decimals: market.decimals }
      : { mint: quoted.pool.quoteMint, decimals: quoteDecimals, ...quoteCoins(quoted, publicKey, wallet) },
  };
}

/** How long the state in memory may take to reach the slot of a simulation, and how often it is checked. */
const marketWithinMs = 400;
const marketEveryMs = 10;

/** The market of a coin once `isFarEnough` accepts it; null after 400 ms. Rejects with an `RpcError`. */
export async function awaitMarket(
  { markets }: PrepareParts['state'],
  mint: string,
  isFarEnough: (market: MarketRead) => boolean,
): Promise<MarketRead | null> {
  const terms = { endMs: performance.now() + marketWithinMs, pauseMs: marketEveryMs };
  const found = await readUntil(() => markets.read(mint), isFarEnough, terms);
  return isFarEnough(found) ? found : null;
}

async function quoteFrom(
  slot: number,
  quoted: QuotedOrder,
  { order }: TradeRequest,
  { state, clock }: PrepareParts,
): Promise<LaterQuote | null> {
  const { trade } = quoted;
  const read = await awaitMarket(state, order.mint, (market) => market.slot >= slot);
  if (read?.result.kind !== 'market') return null;
  const { market } = read.result;
  const later = market.pools.find(({ pool }) => pool.address === quoted.pool.address);
  const outcome = later?.pool.quote(trade, { slot: read.slot, unixTimeS: unixSeconds(clock) });
  if (later === undefined || outcome?.ok !== true) return null;
  const { quote } = outcome;
  const actual = trade.exact === 'quoteIn' ? quote.baseAmount : quote.traderQuote;
  return { actual, quote: quoteOfOrder(order, { ...later, market, trade, quote }) };
}

function quoteCoins({ pool, quote, quoteTokenProgram }: QuotedOrder, publicKey: string, { tokenAccounts }: WalletRead) {
  if (pool.quoteMint === wrappedSolMint) return { have: null, need: null };
  const account = tokenAddress(publicKey, pool.quoteMint, quoteTokenProgram);
  return { have: tokenAccounts.get(account)?.amount ?? 0n, need: quote.traderQuote };
}

const noLamports: LamportsAt = () => 0n;

/** The most that the message can take, whichever accounts exist, and at the bound of its price. */
function mostTaken(terms: OutlayTerms): bigint {
  const { built, quote, maxIn } = terms;
  const { fee, most } = outlayOf(terms, noLamports);
  const isDirect = built.wrapped === null && quote.side === 'buy' && built.trade.quoteMint === wrappedSolMint;
  return fee + most + (isDirect ? maxIn : 0n) + built.tips.reduce((sum, { lamports }) => sum + lamports, 0n);
}

/** The refusal if the wallet has too few lamports. The accounts that decide are read only if the known balance is not clearly enough. */
async function lamportsFault(
  terms: OutlayTerms,
  wallet: WalletRead,
  publicKey: string,
  state: PrepareParts['state'],
): Promise<QuoteRefusal | null> {
  const ownRent = terms.rent(0);
  if (wallet.lamports >= needOf(outlayOf(terms, noLamports), ownRent)) return null;
  const read = await state.wallets.readAgreed(publicKey, payableAccounts(terms.built), wallet.slot);
  if (read.isDisputed) return unavailable('The nodes contradict each other about the balance of the wallet.');
  const outlay = outlayOf(terms, (address) => read.unownedLamports.get(address) ?? null);
  return canPay(outlay, ownRent, read.lamports) ? null : tooLittle('lamports', read.lamports, needOf(outlay, ownRent), solDecimals);
}
