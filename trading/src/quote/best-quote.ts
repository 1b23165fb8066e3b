import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import { inSol, quoteCoins } from '@sluice/shared/wire/values/money.ts';
import { depthOfReserves } from '@sluice/shared/market/pools/depth-share.ts';
import { buyLimits } from '@sluice/shared/wire/rest/trading/quote.ts';
import { errorTable, type ErrorCode } from '@sluice/shared/wire/errors.ts';
import { decimalText } from '@sluice/shared/solana/encoding/amounts.ts';
import { maxU64, type Quote, type QuotedPool, type QuotedTrade, type QuoteFault, type QuoteMoment } from '@sluice/venues/seam/quoting.ts';
import { wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { partOf, rawAmount, rawOfText } from './amounts.ts';
import type { MarketRead } from './markets.ts';
import type { QuoteRequest } from './order.ts';
import { isDerived, shallowPart, type TokenMarket, type TradedPool, type Unquotable } from '@sluice/gateway/reads/pools/quoted-market.ts';

/** Raw tokens in the associated token account of a wallet. */
export type Balance = bigint;

/** Why there is no quote, in the form that clients receive. */
export interface QuoteRefusal {
  readonly error: ErrorCode;
  readonly message?: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** An order as it would be traded now. */
export interface QuotedOrder extends TradedPool {
  readonly market: TokenMarket;
  readonly trade: QuotedTrade;
  readonly quote: Quote;
}

const unquotableTexts: Readonly<Record<Unquotable, string>> = {
  transfer_fee:
    'the coin or its quote coin withholds a fee from every transfer: the amounts in its pool differ from the amounts that arrive',
  not_transferable: 'the coin or its quote coin cannot be transferred',
};

/** What a quote depends on besides the market. */
export interface QuoteFacts {
  /** Only used for orders over a part of the wallet's balance. */
  readonly balance: Balance;
  /** Price of SOL in USD; null if it is unknown. */
  readonly solUsd: number | null;
  readonly unixTimeS: number;
}

/** The time of a quote. Blocks have whole seconds. */
export function unixSeconds(clock: Pick<Clock, 'wallMs'>): number {
  return Math.floor(clock.wallMs() / 1000);
}

/** Quotes an order on a market. */
export function quoteOn(
  order: QuoteRequest,
  { result, slot }: Pick<MarketRead, 'result' | 'slot'>,
  facts: QuoteFacts,
): QuotedOrder | QuoteRefusal {
  if (result.kind === 'no_mint') return { error: 'INVALID_MINT' };
  if (result.kind === 'malformed') {
    const { venue, reason } = result;
    return { error: 'UPSTREAM_UNAVAILABLE', message: `The state of ${venue} cannot be read: ${reason}.`, details: { pool: venue } };
  }
  const { market } = result;
  if (market.unquotable !== null) return wrongFields({ mint: unquotableTexts[market.unquotable] });
  const open = openPools(order, market, facts);
  const at = { slot, unixTimeS: facts.unixTimeS };
  return 'error' in open ? open : bestQuote(open.map((pool) => quoteIn(order, market, pool, facts, at)));
}

function quoteIn(
  order: QuoteRequest,
  market: TokenMarket,
  chosen: TradedPool,
  facts: QuoteFacts,
  at: QuoteMoment,
): QuotedOrder | QuoteRefusal {
  const trade = tradeOf(order, market, chosen, facts, at);
  if ('error' in trade) return trade;
  const outcome = chosen.pool.quote(trade, at);
  return outcome.ok ? { market, trade, quote: outcome.quote, ...chosen } : refusal(outcome.fault);
}

/** The best quote for the trader; if no pool can do the trade, the refusal of the first one. */
function bestQuote(outcomes: readonly (QuotedOrder | QuoteRefusal)[]): QuotedOrder | QuoteRefusal {
  let best = outcomes[0]!;
  for (const outcome of outcomes.slice(1)) if (!('error' in outcome) && ('error' in best || isBetter(outcome, best))) best = outcome;
  return best;
}

/**
 * Whether the trader gives less for what is fixed, or gets more. Both are quotes of one order, in one quote coin. Of two quotes that are
 * equally good, the one whose pool has the lower address counts, so that every gateway and every node's state lead to the same pool.
 */
function isBetter(one: QuotedOrder, other: QuotedOrder): boolean {
  const difference = gainOf(one, other.trade) - gainOf(other, one.trade);
  return difference === 0n ? one.pool.address < other.pool.address : difference > 0n;
}

/** Grows with what the trader gains. Amounts to give differ between pools only if the order names the amount to receive. */
function gainOf({ trade, quote }: QuotedOrder, otherTrade: QuotedTrade): bigint {
  if (trade.exact === 'baseOut') return -quote.traderQuote;
  if (trade.exact === 'quoteIn') return quote.baseAmount;
  return trade.amount === otherTrade.amount ? quote.traderQuote : -trade.amount;
}

/** The refusal for a missing balance. `have` and `need` are lamports, or raw units of the coin that the trader gives, whose mint is `mint`. */
export function tooLittle(
  unit: 'tokens' | 'lamports',
  have: bigint,
  need: bigint,
  decimals: number,
  mint: string | null = null,
): QuoteRefusal {
  return { error: 'INSUFFICIENT_BALANCE', ...describeShortfall({ unit, mint, have, need, decimals }) };
}

/** A balance that is too low. `have` and `need` are raw units of the coin that the trader gives; null if unknown. */
export interface Shortfall {
  /** `lamports`: of the wallet itself. `tokens`: of its token account, also for wrapped SOL. */
  readonly unit: 'tokens' | 'lamports';
  /** Of the tokens; null if it is unknown. */
  readonly mint: string | null;
  readonly have: bigint | null;
  readonly need: bigint | null;
  readonly decimals: number | null;
}

/** The message and the details of an `INSUFFICIENT_BALANCE`. Both name the coin. */
export function describeShortfall({ unit, mint: ofTokens, have, need, decimals }: Shortfall) {
  const mint = unit === 'lamports' ? wrappedSolMint : ofTokens;
  const symbol = mint === null ? null : (quoteCoins.get(mint)?.symbol ?? null);
  const coin = symbol ?? (mint === null ? 'tokens' : `tokens of ${mint}`);
  const { message } = errorTable.INSUFFICIENT_BALANCE;
  const text = (raw: bigint | null): string | null => (raw === null ? null : String(raw));
  return {
    message:
      have === null || need === null || decimals === null
        ? message
        : `${message.slice(0, -1)}: needs ${decimalText(need, decimals)} ${coin}, has ${decimalText(have, decimals)}.`,
    details: { unit, mint, symbol, have: text(have), need: text(need), decimals },
  };
}

/** The request is of the right form, and these of its fields are wrong. */
export function wrongFields(fields: Readonly<Record<string, string>>): QuoteRefusal {
  return { error: 'INVALID_REQUEST', details: { fields } };
}

/**
 * The pools that an order may be traded in, at least one. An open curve trades alone. All pools have the same quote coin, because an order's amount is
 * in that coin, and it must not change because somebody opens a pool. See `coinOf`.
 */
function openPools({ pool }: QuoteRequest, market: TokenMarket, { solUsd }: QuoteFacts): readonly TradedPool[] | QuoteRefusal {
  const { pools, malformed, isElsewhere } = market;
  const named = pools.filter(({ venue }) => pool === 'auto' || venue.name === pool);
  const open = named.filter((one) => !one.pool.complete);
  const curve = open.find((one) => one.pool.curve);
  if (curve !== undefined) return [curve];
  const traded = open.filter(({ venue }) => venue.signing !== null);
  const isHinted = pool === 'auto' && open.length > 0 && !open.some(isDerived);
  if (isHinted) {
    if (malformed > 0)
      return wrongFields({ pool: 'the pool in which the coin started cannot be read; name a venue to trade in another one' });
    if (isElsewhere && traded.length > 0)
      return wrongFields({ pool: 'the coin is traded on venues without orders; name a venue to trade in a much smaller pool' });
  }
  // Until the coin has moved, a pool that is much smaller than the curve was is not where it moves to.
  const moving = pools.filter((one) => one.pool.complete && one.pool.migrated !== true);
  const least = shallowPart * Math.max(0, ...moving.map((one) => depthOf(one, solUsd) ?? Infinity));
  const isMarket = !isHinted || least === 0 || traded.some((one) => (depthOf(one, solUsd) ?? 0) >= least);
  if (open.length > 0 && isMarket) {
    const coin = coinOf(open, solUsd);
    if (isHinted && traded.some((one) => one.pool.quoteMint !== coin && depthOf(one, solUsd) === null))
      return wrongFields({ pool: 'the depth of a pool in another quote coin is unknown; name a venue to trade in' });
    return open.filter((one) => one.pool.quoteMint === coin);
  }
  if (pools.length === 0)
    return {
      error: 'NOT_FOUND',
      message: 'The coin has no pool on a venue that sluice supports for this request.',
      details: { reason: 'no_pool' },
    };
  if (pool !== 'auto' && named.length > 0)
    return wrongFields({ pool: 'the curve is complete: the coin is traded in the pool that it moved to' });
  if (pool === 'auto') {
    const message = 'The curve is complete, and the pool that the coin moves to does not exist yet.';
    return { error: 'NOT_FOUND', message, details: { reason: 'migrating' } };
  }
  return { error: 'NOT_FOUND', message: `The coin has no pool on ${pool}.`, details: { reason: 'no_pool' } };
}

/**
 * The quote coin of an order. Pools that orders are sent to decide if there are any, and of these the derived ones, which nobody else can open. It is the
 * first of `quoteCoins`, unless pools in another coin are much deeper. Without such pools it is the coin of the first one.
 */
function coinOf(open: readonly TradedPool[], solUsd: number | null): string {
  const traded = open.filter(({ venue }) => venue.signing !== null);
  const derived = traded.filter(isDerived);
  const deciding = derived.length > 0 ? derived : traded.length > 0 ? traded : open.slice(0, 1);
  const depthIn = (coin: string): number =>
    Math.max(...deciding.map((one) => (one.pool.quoteMint !== coin ? -1 : isDerived(one) ? 0 : (depthOf(one, solUsd) ?? 0))));
  const coins = [...quoteCoins.keys()].map((coin) => ({ coin, depth: depthIn(coin) })).filter(({ depth }) => depth >= 0);
  const deepest = Math.max(...coins.map(({ depth }) => depth));
  return coins.find(({ depth }) => depth >= deepest * shallowPart)?.coin ?? deciding[0]!.pool.quoteMint;
}

/** Depth in SOL: of the directory, else from the reserves, as an estimate in floating point. Null if unknown. */
function depthOf({ pool: { reserves, quoteMint }, quoteDecimals, depthSol }: TradedPool, solUsd: number | null): number | null {
  if (depthSol !== null && depthSol > 0) return depthSol;
  if (reserves === null) return null;
  return inSol(depthOfReserves(Number(reserves.virtualQuote), Number(reserves.realQuote)) / 10 ** quoteDecimals, quoteMint, { solUsd });
}

function tradeOf(
  { side, amount, mint }: QuoteRequest,
  { decimals }: TokenMarket,
  chosen: TradedPool,
  { balance, solUsd }: QuoteFacts,
  at: QuoteMoment,
): QuotedTrade | QuoteRefusal {
  const exact = side === 'buy' ? 'quoteIn' : 'baseIn';
  if (amount.kind === 'part') {
    const { ppm, most, mostCoins } = amount;
    const coins = mostCoins === undefined ? null : rawAmount(mostCoins, decimals);
    if (coins?.ok === false) return wrongFields({ maxAmount: coins.fault });
    const part = [most, coins?.raw].reduce<bigint>((least, one) => (one !== undefined && one < least ? one : least), partOf(balance, ppm));
    if (part > 0n) return { exact, amount: part };
    if (balance === 0n) return tooLittle('tokens', 0n, 1n, decimals, mint);
    return wrongFields({ amount: `is too small: this part of the balance of ${balance} raw units is less than one unit` });
  }
  if (amount.kind === 'coins') return tradeOfCoins(side, amount, decimals, chosen, at);
  const fault = side === 'buy' ? spendFault(amount.value, chosen.pool.quoteMint, solUsd) : null;
  if (fault !== null) return wrongFields({ amount: fault });
  const raw = rawAmount(amount.value, side === 'buy' ? chosen.quoteDecimals : decimals);
  return raw.ok ? { exact, amount: raw.raw } : wrongFields({ amount: raw.fault });
}

/** An amount of tokens is exact for buys and sells. An amount of SOL is what a buy spends, or the least that a sell receives. */
function tradeOfCoins(
  side: 'buy' | 'sell',
  { of, text }: Extract<QuoteRequest['amount'], { kind: 'coins' }>,
  decimals: number,
  { pool, quoteDecimals }: TradedPool,
  at: QuoteMoment,
): QuotedTrade | QuoteRefusal {
  const amount = rawOfText(text, of === 'base' ? decimals : quoteDecimals);
  if (amount === null) return wrongFields({ amount: 'is not a decimal number' });
  if (of === 'base') return { exact: side === 'buy' ? 'baseOut' : 'baseIn', amount };
  if (pool.quoteMint !== wrappedSolMint) return wrongFields({ denominatedInSol: 'the coin trades against a coin other than SOL' });
  if (side === 'buy') return { exact: 'quoteIn', amount };
  const sold = sellFor(pool, amount, at);
  return sold.ok ? { exact: 'baseIn', amount: sold.base } : refusal(sold.fault);
}

function refusal(fault: QuoteFault): QuoteRefusal {
  switch (fault) {
    case 'complete':
      return { error: 'NOT_FOUND', message: 'The curve has no tokens left.', details: { reason: 'migrating' } };
    case 'disabled':
      return wrongFields({ side: 'the venue does not allow trades on this side now' });
    case 'too_small':
      return wrongFields({ amount: 'is too small: the trade would give nothing' });
    case 'unknown_fee':
      return wrongFields({ pool: 'the fee of the pool changes with each trade, and the current fee cannot be computed' });
    case 'too_large':
      return wrongFields({ amount: 'is more than the pool can trade' });
  }
}

/**
 * Why a buy may not spend this many whole quote coins; null if it may. If the value of the coin in SOL is unknown, the limits count its whole
 * coins: one USDC is worth less than one SOL. `solUsd`: the price of SOL in USD, null if it is unknown.
 */
function spendFault(coins: number, quoteMint: string, solUsd: number | null): string | null {
  const { min, max } = buyLimits;
  const worth = inSol(coins, quoteMint, { solUsd });
  const counted = worth ?? coins;
  if (counted >= min && counted <= max) return null;
  const coin = quoteCoins.get(quoteMint);
  if (coin === undefined) return `must be ${min} to ${max} coins of ${quoteMint}, because their value in SOL is unknown`;
  if (worth === null) return `must be ${min} to ${max} ${coin.symbol}, because the price of SOL is unknown at present`;
  if (coin.unit === 'sol') return `must be ${min} to ${max} ${coin.symbol}`;
  const inCoins = (sol: number): string => String(Number((sol * (coins / worth)).toPrecision(4)));
  return `must be worth ${min} to ${max} SOL, at present about ${inCoins(min)} to ${inCoins(max)} ${coin.symbol}`;
}

export type Sold = { readonly ok: true; readonly base: bigint } | { readonly ok: false; readonly fault: QuoteFault };

/** The fewest tokens to sell for `target` of the quote coin after fees, give or take a few units. Found by bisection, in at most 64 quotes. */
export function sellFor(pool: Pick<QuotedPool, 'quote'>, target: bigint, at: QuoteMoment): Sold {
  if (target <= 0n) return { ok: false, fault: 'too_small' };
  let [tooFew, enough] = [0n, maxU64];
  while (enough - tooFew > 1n) {
    const amount = (tooFew + enough) / 2n;
    const outcome = pool.quote({ exact: 'baseIn', amount }, at);
    if (!outcome.ok && outcome.fault !== 'too_small' && outcome.fault !== 'too_large') return outcome;
    const reached = outcome.ok ? outcome.quote.traderQuote >= target : outcome.fault === 'too_large';
    if (reached) enough = amount;
    else tooFew = amount;
  }
  const found = pool.quote({ exact: 'baseIn', amount: enough }, at);
  return found.ok ? { ok: true, base: enough } : found;
}
