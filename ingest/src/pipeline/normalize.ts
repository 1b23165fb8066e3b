import { quoteCoins } from '@sluice/shared/wire/values/money.ts';
import { toUi } from '@sluice/shared/solana/encoding/amounts.ts';
import type { TokenBalance } from '@sluice/shared/solana/transaction/inner-events.ts';
import { wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { chargedFees, feesIn } from '@sluice/venues/seam/fee.ts';
import { stateOfReserves } from '@sluice/venues/kit/constant-product.ts';
import { flipPrice, priceOf, wireReserves } from '@sluice/venues/seam/price.ts';
import type { CurveMigrated, Fee, PriceState, TokenCreated, VenueTrade } from '@sluice/venues/seam/venue.ts';
import type { MigrationEvent, NewTokenEvent, PriceEvent, TradeEvent, VenueName } from '@sluice/shared/wire/events/events.ts';
import type { DecodedTransaction } from './decode.ts';
import { valuation, type EventRates } from './price.ts';
import { solUsdAt } from './sol-usd.ts';

/** Where and when a transaction was seen: what all of its events share. */
type Seen = Omit<DecodedTransaction, 'digest' | 'facts' | 'events'>;

/** The pool of an event, resolved: `mint` is the token, which may be the base or the quote of the program's pair. */
export interface EventPool {
  readonly venue: VenueName;
  readonly poolAddress: string;
  readonly mint: string;
  readonly baseDecimals: number;
  readonly quoteMint: string;
  readonly quoteDecimals: number;
  readonly supply: bigint | null;
}

/** A trade as token and money; reversed if the program has the money as its base. */
export interface TokenTrade extends PriceState {
  readonly side: 'buy' | 'sell';
  readonly trader: string;
  readonly baseAmount: bigint;
  readonly quoteAmount: bigint;
  /** The price before the trade; null if it is not known. */
  readonly before: Pick<PriceState, 'priceQuote' | 'priceBase'> | null;
  /** `base` is the token, `quote` the money. */
  readonly fees: readonly Fee[];
  /** In the money, at the rate of this trade. */
  readonly feeTotal: bigint;
  readonly timestamp: number | null;
}

export function tokenTrade(trade: VenueTrade, flipped: boolean): TokenTrade {
  const { side, trader, baseAmount, quoteAmount, before, timestamp } = trade;
  // `feeTotal` counts the fees in the program's quote coin; those in its base coin come from the list.
  const ofBase = feesIn('base', trade.fees);
  if (!flipped && ofBase === 0n) return trade;
  const [tokens, money] = flipped ? [quoteAmount, baseAmount] : [baseAmount, quoteAmount];
  const inMoney = (amount: bigint): bigint => (tokens === 0n ? 0n : (amount * money) / tokens);
  const fees = flipped ? trade.fees.map((fee): Fee => ({ ...fee, coin: fee.coin === 'base' ? 'quote' : 'base' })) : trade.fees;
  const feeTotal = flipped ? inMoney(trade.feeTotal) + ofBase : trade.feeTotal + inMoney(ofBase);
  const state = flipped ? flipPrice(trade) : trade;
  return {
    side: flipped ? (side === 'buy' ? 'sell' : 'buy') : side,
    trader,
    baseAmount: tokens,
    quoteAmount: money,
    before: flipped && before !== null ? { priceQuote: before.priceBase, priceBase: before.priceQuote } : before,
    priceQuote: state.priceQuote,
    priceBase: state.priceBase,
    reserves: state.reserves,
    depth: state.depth,
    fees,
    feeTotal,
    timestamp,
  };
}

/** The trade of the contract. Its price is that of the pool after it, and null if the pool has none: its own amounts never set a price. */
export function tradeEvent(
  seen: Seen,
  path: string,
  market: EventPool,
  trade: TokenTrade,
  rates: EventRates,
  completes: boolean,
): TradeEvent {
  const { baseDecimals, quoteDecimals, quoteMint } = market;
  const price = priceOf(trade, baseDecimals, quoteDecimals);
  const { priceQuote, priceSol, priceUsd, marketCapSol, marketCapUsd } = valuation(price, quoteMint, rates);
  const quoteUiAmount = toUi(trade.quoteAmount, quoteDecimals);
  const event: TradeEvent = {
    type: 'trade',
    id: `${seen.signature}:${path}`,
    mint: market.mint,
    quoteMint,
    pool: market.venue,
    poolAddress: market.poolAddress,
    signature: seen.signature,
    slot: seen.slot,
    blockTime: seen.blockTime ?? trade.timestamp,
    commitment: seen.commitment,
    ts: { received: seen.receivedUs, published: 0 },
    side: trade.side,
    trader: trade.trader,
    feePayer: seen.feePayer,
    baseAmount: trade.baseAmount.toString(),
    baseDecimals,
    quoteAmount: trade.quoteAmount.toString(),
    quoteDecimals,
    tokenAmount: toUi(trade.baseAmount, baseDecimals),
    solAmount: quoteMint === wrappedSolMint ? quoteUiAmount : null,
    quoteUiAmount,
    priceQuote,
    priceSol,
    priceUsd,
    marketCapSol,
    marketCapUsd,
    mainPool: null,
    priceQuoteBefore: trade.before === null ? null : priceOf(trade.before, baseDecimals, quoteDecimals),
    fees: chargedFees(trade.fees, market.mint, quoteMint),
    feeTotal: trade.feeTotal.toString(),
    reserves: trade.reserves === null ? null : wireReserves(trade.reserves),
  };
  if (trade.depth !== null) event.depth = trade.depth.toString();
  const traderBalance = balanceAfter(seen.tokenBalances, trade.trader, market.mint);
  if (traderBalance !== null) event.traderBalance = traderBalance.toString();
  if (seen.index !== null) event.transactionIndex = seen.index;
  if (seen.late) event.late = true;
  if (completes) event.curveCompleted = true;
  return event;
}

/** What an owner holds of a mint after a transaction, in the accounts that the transaction names; null if it is not known. */
function balanceAfter(balances: readonly TokenBalance[] | null, owner: string, mint: string): bigint | null {
  let sum: bigint | null = null;
  for (const balance of balances ?? []) {
    if (balance.mint === mint && balance.owner === owner) sum = (sum ?? 0n) + balance.after;
  }
  return sum;
}

/** The tick of a trade; null if the pool's state gives no price. */
export function tradePrice(trade: TradeEvent, rates: EventRates): PriceEvent | null {
  return trade.priceQuote === null ? null : priceEvent(`${trade.id}.price`, trade, 'trade', trade.priceQuote, trade, rates);
}

/** Where and when a price was seen. */
export type PriceSeen = Pick<PriceEvent, 'signature' | 'slot' | 'blockTime' | 'commitment' | 'ts'> & { readonly late?: boolean };

/** The tick of a pool that changed without a known trade; null if its state gives no price. */
export function accountPrice(id: string, seen: PriceSeen, market: EventPool, state: PriceState, rates: EventRates): PriceEvent | null {
  const { mint, quoteMint, venue: pool, poolAddress, baseDecimals, quoteDecimals } = market;
  const price = priceOf(state, baseDecimals, quoteDecimals);
  if (price === null) return null;
  const values = {
    ...valuation(price, quoteMint, rates),
    mainPool: null,
    reserves: state.reserves === null ? null : wireReserves(state.reserves),
    ...(state.depth !== null && { depth: state.depth.toString() }),
  };
  return priceEvent(id, { ...seen, mint, quoteMint, pool, poolAddress }, 'account', price, values, rates);
}

function priceEvent(
  id: string,
  seen: PriceSeen & Pick<PriceEvent, 'mint' | 'quoteMint' | 'pool' | 'poolAddress'>,
  source: PriceEvent['source'],
  priceQuote: number,
  values: Pick<PriceEvent, 'priceSol' | 'priceUsd' | 'marketCapSol' | 'marketCapUsd' | 'mainPool' | 'reserves' | 'depth'>,
  rates: EventRates,
): PriceEvent {
  const event: PriceEvent = {
    type: 'price',
    id,
    mint: seen.mint,
    quoteMint: seen.quoteMint,
    pool: seen.pool,
    poolAddress: seen.poolAddress,
    signature: seen.signature,
    slot: seen.slot,
    blockTime: seen.blockTime,
    commitment: seen.commitment,
    ts: { received: seen.ts.received, published: 0 },
    source,
    priceQuote,
    priceSol: values.priceSol,
    priceUsd: values.priceUsd,
    marketCapSol: values.marketCapSol,
    marketCapUsd: values.marketCapUsd,
    mainPool: values.mainPool,
    solUsd: rates.solUsdAt,
    reserves: values.reserves,
  };
  const rate = rates.coins.get(seen.quoteMint);
  if (rate !== undefined) event.quoteRate = solUsdAt(rate, seen.ts.received / 1000);
  if (values.depth !== undefined) event.depth = values.depth;
  if (seen.late === true) event.late = true;
  return event;
}

/** The creation of a token, in its state after the purchases of its creating wallet in the same transaction (`buys`, in order). */
export function newTokenEvent(
  seen: Seen,
  path: string,
  market: EventPool,
  created: TokenCreated,
  tokenProgram: string,
  buys: readonly VenueTrade[],
  rates: EventRates,
): NewTokenEvent {
  const reserves = buys.at(-1)?.reserves ?? created.reserves;
  const { baseDecimals, quoteDecimals, quoteMint } = market;
  const price = priceOf(stateOfReserves(reserves), baseDecimals, quoteDecimals);
  return {
    type: 'newToken',
    ...placeOf(seen, path, market, created.timestamp),
    mint: created.mint,
    quoteSymbol: quoteCoins.get(quoteMint)?.symbol ?? null,
    name: created.name,
    symbol: created.symbol,
    uri: created.uri,
    creator: created.creator,
    trader: created.trader,
    tokenProgram,
    bondingCurve: created.pool,
    platform: created.platform,
    supply: created.supply.toString(),
    decimals: created.decimals,
    initialBuy: initialBuy(created.trader, market, buys),
    ...valuation(price, quoteMint, rates),
    reserves: wireReserves(reserves),
    traits: [...created.traits],
    creatorFeeBps: created.creatorFeeBps,
  };
}

/** Fields that all events of a transaction share. `timestamp`: of the event, if the sighting has no time of its block. */
export function placeOf(
  { signature, slot, commitment, receivedUs, blockTime, late }: Seen,
  path: string,
  market: EventPool,
  timestamp: number | null,
) {
  return {
    id: `${signature}:${path}`,
    quoteMint: market.quoteMint,
    pool: market.venue,
    poolAddress: market.poolAddress,
    signature,
    slot,
    blockTime: blockTime ?? timestamp,
    commitment,
    ts: { received: receivedUs, published: 0 },
    ...(late && { late }),
  };
}

function initialBuy(trader: string, market: EventPool, buys: readonly VenueTrade[]): NewTokenEvent['initialBuy'] {
  if (buys.length === 0) return null;
  const baseAmount = buys.reduce((sum, buy) => sum + buy.baseAmount, 0n);
  const quoteAmount = buys.reduce((sum, buy) => sum + buy.quoteAmount, 0n);
  return {
    trader,
    baseAmount: baseAmount.toString(),
    quoteAmount: quoteAmount.toString(),
    tokenAmount: toUi(baseAmount, market.baseDecimals),
    solAmount: market.quoteMint === wrappedSolMint ? toUi(quoteAmount, market.quoteDecimals) : null,
  };
}

/** The migration of a curve to a pool; `market` is the destination. Its price is that of the amounts with which the pool opened. */
export function migrationEvent(
  seen: Seen,
  path: string,
  fromVenue: VenueName,
  market: EventPool,
  migrated: CurveMigrated,
  rates: EventRates,
): MigrationEvent {
  const { baseDecimals, quoteDecimals, quoteMint } = market;
  const price = priceOf({ priceQuote: migrated.quoteAmount, priceBase: migrated.baseAmount }, baseDecimals, quoteDecimals);
  return {
    type: 'migration',
    ...placeOf(seen, path, market, migrated.timestamp),
    mint: migrated.mint,
    from: { pool: fromVenue, poolAddress: migrated.fromPool },
    baseAmount: migrated.baseAmount.toString(),
    baseDecimals,
    quoteAmount: migrated.quoteAmount.toString(),
    quoteDecimals,
    solAmount: quoteMint === wrappedSolMint ? toUi(migrated.quoteAmount, quoteDecimals) : null,
    migrationFee: migrated.fee.toString(),
    ...valuation(price, quoteMint, rates),
  };
}
