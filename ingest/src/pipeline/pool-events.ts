import { toUi } from '@sluice/shared/solana/encoding/amounts.ts';
import { wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import type { LiquidityEvent, PoolCreatedEvent } from '@sluice/shared/wire/events/events.ts';
import { inSolAndUsd } from '@sluice/shared/wire/values/money.ts';
import { stateOfReserves } from '@sluice/venues/kit/constant-product.ts';
import { flipPrice, priceOf, wireReserves } from '@sluice/venues/seam/price.ts';
import type { LiquidityChanged, PoolAmounts, PoolCreated, PriceState } from '@sluice/venues/seam/venue.ts';
import type { LocatedEvent } from '../sources/decode/transaction-decoder.ts';
import type { DecodedTransaction } from './decode.ts';
import { placeOf, type EventPool } from './normalize.ts';
import { valuation, type EventRates } from './price.ts';

const turned = ({ base, quote }: PoolAmounts, flipped: boolean): PoolAmounts => (flipped ? { base: quote, quote: base } : { base, quote });

/** Value of both amounts at a price of the token in quote coins. Null if it is unknown. */
function valueOf({ base, quote }: PoolAmounts, price: number | null, market: EventPool, rates: EventRates) {
  if (base > 0n && price === null) return { sol: null, usd: null };
  const coins = toUi(quote, market.quoteDecimals) + toUi(base, market.baseDecimals) * (price ?? 0);
  return inSolAndUsd(coins, market.quoteMint, rates);
}

/** Liquidity that the transaction locked in this pool. */
function lockedIn({ events }: DecodedTransaction, pool: string): string | null {
  let sum: bigint | null = null;
  for (const { event } of events) if (event.type === 'liquidityLocked' && event.pool === pool) sum = (sum ?? 0n) + event.lpAmount;
  return sum === null ? null : String(sum);
}

/** What is known of a pool event in addition to what it shows. */
interface PoolEventParts {
  readonly transaction: DecodedTransaction;
  readonly path: string;
  readonly market: EventPool;
  /** The program has the money as its base. */
  readonly flipped: boolean;
  readonly lpBurned: LocatedEvent['lpBurned'];
  readonly rates: EventRates;
}

export function poolCreatedEvent(parts: PoolEventParts, created: PoolCreated): PoolCreatedEvent {
  const { transaction, path, market, flipped, lpBurned, rates } = parts;
  const { mint, quoteMint, baseDecimals, quoteDecimals } = market;
  const held = created.opening?.held ?? null;
  // Anybody can open an empty pool at any price.
  const given = created.reserves !== null ? stateOfReserves(created.reserves) : held !== null ? created.opening!.state : null;
  const state = given !== null && flipped ? flipPrice(given) : given;
  const reserves = state?.reserves ?? null;
  const amounts = reserves !== null ? { base: reserves.realBase, quote: reserves.realQuote } : held && turned(held, flipped);
  const price = state === null ? null : priceOf(state, baseDecimals, quoteDecimals);
  const { sol, usd } = amounts === null ? { sol: null, usd: null } : valueOf(amounts, price, market, rates);
  const quoteUiAmount = amounts === null ? null : toUi(amounts.quote, quoteDecimals);
  return {
    type: 'poolCreated',
    ...placeOf(transaction, path, market, created.timestamp),
    mint,
    creator: created.creator,
    baseAmount: amounts === null ? null : String(amounts.base),
    quoteAmount: amounts === null ? null : String(amounts.quote),
    baseDecimals,
    quoteDecimals,
    tokenAmount: amounts === null ? null : toUi(amounts.base, baseDecimals),
    solAmount: quoteMint === wrappedSolMint ? quoteUiAmount : null,
    quoteUiAmount,
    valueSol: sol,
    valueUsd: usd,
    lpBurned: lpBurned === undefined ? null : String(lpBurned),
    lpLocked: lockedIn(transaction, created.pool),
    ...valuation(price, quoteMint, rates),
    mainPool: null,
    reserves: reserves === null ? null : wireReserves(reserves),
  };
}

/** `state`: price and depth after the event, and `last`: the price before it, as token and money. The last price values what left a drained pool. */
export function liquidityEvent(
  parts: PoolEventParts,
  changed: LiquidityChanged,
  state: PriceState | null,
  last: Pick<PriceState, 'priceQuote' | 'priceBase'>,
): LiquidityEvent {
  const { transaction, path, market, flipped, lpBurned, rates } = parts;
  const { mint, quoteMint, baseDecimals, quoteDecimals } = market;
  const { type, provider, lpAmount } = changed;
  const amounts = turned({ base: changed.baseAmount, quote: changed.quoteAmount }, flipped);
  const left = changed.left === null ? null : turned(changed.left, flipped);
  const price = (state === null ? null : priceOf(state, baseDecimals, quoteDecimals)) ?? priceOf(last, baseDecimals, quoteDecimals);
  const moved = valueOf(amounts, price, market, rates);
  const rest = left === null ? { sol: null, usd: null } : valueOf(left, price, market, rates);
  const quoteUiAmount = toUi(amounts.quote, quoteDecimals);
  const burned = type === 'liquidityRemoved' ? lpAmount : (lpBurned ?? null);
  return {
    type,
    ...placeOf(transaction, path, market, changed.timestamp),
    mint,
    provider,
    baseAmount: String(amounts.base),
    quoteAmount: String(amounts.quote),
    baseDecimals,
    quoteDecimals,
    tokenAmount: toUi(amounts.base, baseDecimals),
    solAmount: quoteMint === wrappedSolMint ? quoteUiAmount : null,
    quoteUiAmount,
    valueSol: moved.sol,
    valueUsd: moved.usd,
    baseLeft: left === null ? null : String(left.base),
    quoteLeft: left === null ? null : String(left.quote),
    leftSol: rest.sol,
    leftUsd: rest.usd,
    lpAmount: lpAmount === null ? null : String(lpAmount),
    lpBurned: burned === null ? null : String(burned),
    lpLocked: lockedIn(transaction, changed.pool),
    ...valuation(price, quoteMint, rates),
    mainPool: null,
    reserves: state === null || state.reserves === null ? null : wireReserves(state.reserves),
    ...(state !== null && state.depth !== null && { depth: String(state.depth) }),
  };
}
