import type {
  ChangedReserves,
  CurveMigrated,
  LiquidityChanged,
  PoolCreated,
  PriceState,
  ReservesChanged,
  TokenCreated,
  Venue,
  VenueTrade,
} from '@sluice/venues/seam/venue.ts';
import { poolPriceOf } from '@sluice/shared/market/pools/depth.ts';
import type { PoolEvent } from '@sluice/shared/wire/events/events.ts';
import { flipPrice } from '@sluice/venues/seam/price.ts';
import { depthWithin } from '@sluice/venues/kit/concentrated.ts';
import { stateOfReserves } from '@sluice/venues/kit/constant-product.ts';
import { isLate } from '@sluice/shared/solana/slots.ts';
import type { PublishableEvent } from '../publisher/outgoing.ts';
import type { AccountState } from '../sources/sighting.ts';
import type { LocatedEvent } from '../sources/decode/transaction-decoder.ts';
import type { DecodedTransaction } from './decode.ts';
import {
  accountPrice,
  tokenTrade,
  migrationEvent,
  newTokenEvent,
  tradeEvent,
  tradePrice,
  type EventPool,
  type PriceSeen,
} from './normalize.ts';
import { setCaps, takeNamed, takeTick, takeTrade } from './main-pools.ts';
import { liquidityEvent, poolCreatedEvent } from './pool-events.ts';
import type { Pool } from './pools.ts';
import { ratesAt, type EventRates } from './price.ts';
import type { SolUsdFeed } from './sol-usd.ts';

export const noEmitCounts = () => ({
  trades: 0,
  prices: 0,
  newTokens: 0,
  migrations: 0,
  /** Opened pools, and liquidity that came or went. */
  poolEvents: 0,
  /** Trades whose reserves do not follow from the previous trade on the same curve: a trade between them was missed. */
  discontinuities: 0,
  /** Changed reserves without a price: the pool's coin or its other reserve is not known. */
  unpublishedChanges: 0,
});

/** An event of a transaction with its resolved pool. */
export interface ResolvedEvent<E> {
  readonly transaction: DecodedTransaction;
  readonly path: string;
  readonly venue: Venue;
  readonly pool: Pool;
  readonly event: E;
}

export interface EmitterParts {
  readonly solUsd: SolUsdFeed;
  readonly simulated: boolean;
  readonly publish: (event: PublishableEvent) => void;
}

/** Converts resolved events to published events, adds their values in SOL and USD, and stores the last price of each pool. */
export class Emitter {
  readonly counts = noEmitCounts();
  /** The discontinuities of each venue. */
  readonly missed = new Map<string, number>();
  readonly #parts: EmitterParts;

  constructor(parts: EmitterParts) {
    this.#parts = parts;
  }

  trade({ transaction, path, pool, event }: ResolvedEvent<VenueTrade>, completes: boolean): void {
    if (!transaction.late || pool.token!.supply === null) learnSupply(pool, event);
    const rates = this.#ratesAt(transaction.receivedUs);
    const market = marketOf(pool);
    const trade = tokenTrade(event, pool.flipped);
    this.#checkContinuity(pool, event, transaction.slot);
    const made = tradeEvent(transaction, path, market, trade, rates, completes);
    takeTrade(pool.token!, made, rates);
    this.counts.trades++;
    this.#publish(made);
    if (isLate(transaction.slot, pool.tickSlot)) return; // newer prices were published
    const price = tradePrice(made, rates);
    if (price !== null) this.#publishPrice(pool, transaction.slot, event, price);
  }

  creation({ transaction, path, pool, event }: ResolvedEvent<TokenCreated>, buys: readonly VenueTrade[]): void {
    const { tokenProgram, supplyByMint } = pool.token!;
    if (supplyByMint) pool.token!.supplyAtMs = transaction.receivedUs / 1000;
    const rates = this.#ratesAt(transaction.receivedUs);
    const made = newTokenEvent(transaction, path, marketOf(pool), event, event.tokenProgram ?? tokenProgram!, buys, rates);
    takeNamed(pool.token!, poolPriceOf(made), made.slot, false);
    setCaps(pool.token!, made, rates);
    this.counts.newTokens++;
    this.#publish(made);
  }

  migration({ transaction, path, venue, pool, event }: ResolvedEvent<CurveMigrated>): void {
    const market: EventPool = { ...marketOf(pool), venue: event.toVenue, poolAddress: event.toPool };
    const rates = this.#ratesAt(transaction.receivedUs);
    const made = migrationEvent(transaction, path, venue.name, market, event, rates);
    if (!transaction.late) takeNamed(pool.token!, poolPriceOf(made), made.slot, true);
    setCaps(pool.token!, made, rates);
    this.counts.migrations++;
    this.#publish(made);
  }

  poolCreated(resolved: ResolvedEvent<PoolCreated>, lpBurned: LocatedEvent['lpBurned']): void {
    this.#pool(resolved, (parts) => poolCreatedEvent({ ...parts, lpBurned }, resolved.event));
  }

  /** The price follows, as a tick. */
  liquidity(resolved: ResolvedEvent<LiquidityChanged>, lpBurned: LocatedEvent['lpBurned']): void {
    const { transaction, path, pool, event } = resolved;
    const last = lastPriceOf(pool);
    const state = event.state ?? stateOfRest(event, last, pool.tickDepth);
    const shown = state !== null && pool.flipped ? flipPrice(state) : state;
    const lastShown = pool.flipped ? { priceQuote: last.priceBase, priceBase: last.priceQuote } : last;
    this.#pool(resolved, (parts) => liquidityEvent({ ...parts, lpBurned }, event, shown, lastShown));
    if (state !== null) this.#tick(pool, state, `${transaction.signature}:${path}.price`, seenOf(transaction, event));
  }

  #pool(
    { transaction, path, pool }: ResolvedEvent<PoolCreated | LiquidityChanged>,
    make: (parts: Omit<Parameters<typeof poolCreatedEvent>[0], 'lpBurned'>) => PoolEvent,
  ): void {
    const rates = this.#ratesAt(transaction.receivedUs);
    const made = make({ transaction, path, market: marketOf(pool), flipped: pool.flipped, rates });
    made.mainPool = pool.token!.main?.poolAddress ?? null;
    setCaps(pool.token!, made, rates);
    this.counts.poolEvents++;
    this.#publish(made);
  }

  /** The program changed reserves without a trade. */
  reserves({ transaction, path, pool, event }: ResolvedEvent<ReservesChanged>): void {
    const { supply } = pool.token!;
    if (supply !== null) pool.token!.supply = supply > event.burned ? supply - event.burned : 0n;
    if (event.reserves.virtualBase !== null && !isLate(transaction.slot, pool.tickSlot)) pool.tradedReserve = event.reserves.virtualBase;
    const state = priceStateOf(event.reserves, pool);
    if (state === null) {
      this.counts.unpublishedChanges++;
      return;
    }
    this.#tick(pool, state, `${transaction.signature}:${path}.price`, seenOf(transaction, event));
  }

  /** An account shows a price that follows from no trade. */
  account(pool: Pool, { address, slot, receivedUs }: AccountState, state: PriceState): void {
    const ts = { received: receivedUs, published: 0 };
    const seen = { signature: null, slot, blockTime: null, commitment: 'processed', ts } as const;
    this.#tick(pool, state, `${address}:${slot}:${state.priceBase}-${state.priceQuote}`, seen);
  }

  /** A drained pool keeps its last price, and has no depth. */
  #tick(pool: Pool, given: PriceState, id: string, seen: PriceSeen): void {
    if (pool.token === null || pool.token.decimals === null || pool.quote === null || pool.quote.decimals === null) {
      this.counts.unpublishedChanges++;
      return;
    }
    if (isLate(seen.slot, pool.tickSlot)) return;
    const isDrained = !pool.isCurve && (given.priceBase <= 0n || given.priceQuote <= 0n);
    const state = isDrained ? { ...given, ...lastPriceOf(pool) } : given;
    const shown = pool.flipped ? flipPrice(state) : state;
    const rates = this.#ratesAt(seen.ts.received);
    const price = accountPrice(id, seen, marketOf(pool), shown, rates);
    if (price === null) return;
    takeTick(pool.token, pool.isCurve, price, rates);
    this.#publishPrice(pool, seen.slot, state, price);
  }

  #publishPrice(pool: Pool, slot: number, state: PriceState, price: PublishableEvent): void {
    pool.tickSlot = slot;
    pool.tickBase = state.priceBase;
    pool.tickQuote = state.priceQuote;
    pool.tickDepth = state.reserves === null ? (state.depth ?? -1n) : null;
    this.counts.prices++;
    this.#publish(price);
  }

  /** On a curve only trades change the base reserve. If the curve has several pieces, that reserve changes its scale, but the real quote does not. */
  #checkContinuity(pool: Pool, { side, baseAmount, quoteAmount, reserves, needs }: VenueTrade, slot: number): void {
    if (!pool.isCurve || reserves === null || isLate(slot, pool.tickSlot)) return;
    const [moved, shown] = needs === undefined ? [-baseAmount, reserves.virtualBase] : [quoteAmount, reserves.realQuote];
    if (pool.tradedReserve >= 0n && pool.tradedReserve + (side === 'buy' ? moved : -moved) !== shown) {
      this.counts.discontinuities++;
      this.missed.set(pool.venue.name, (this.missed.get(pool.venue.name) ?? 0) + 1);
    }
    // The buy that empties a curve may go on with the first reserves of the pool that follows.
    pool.tradedReserve = reserves.realBase > 0n ? shown : -1n;
  }

  #ratesAt(receivedUs: number): EventRates {
    return ratesAt(this.#parts.solUsd, receivedUs);
  }

  #publish(event: PublishableEvent): void {
    if (this.#parts.simulated) event.simulated = true;
    this.#parts.publish(event);
  }
}

/** The last published price of a pool, or that of its opening, in the program's order. Invalid if neither is known. */
function lastPriceOf({ tickBase, tickQuote, openedBase, openedQuote }: Pool): Pick<PriceState, 'priceQuote' | 'priceBase'> {
  return tickBase >= 0n ? { priceQuote: tickQuote, priceBase: tickBase } : { priceQuote: openedQuote, priceBase: openedBase };
}

/**
 * Liquidity does not move the price, and changes the depth in the ratio of what is left. If positions have ranges of their own, the depth is at most what is
 * left. Null if the price or the rest is not known.
 */
function stateOfRest(
  { type, left, quoteAmount, lpAmount }: LiquidityChanged,
  { priceQuote, priceBase }: Pick<PriceState, 'priceQuote' | 'priceBase'>,
  depth: bigint | null,
): PriceState | null {
  if (left === null || priceQuote <= 0n || priceBase <= 0n) return null;
  const { base, quote } = left;
  if (depth === null) {
    const reserves = { virtualBase: base, virtualQuote: (base * priceQuote) / priceBase, realBase: base, realQuote: quote };
    return { priceQuote, priceBase, reserves, depth: null };
  }
  if (lpAmount === null) {
    const known = { priceQuote, priceBase, reserves: null, depth: depth < 0n ? null : depth };
    return { ...known, depth: quote === 0n ? 0n : depthWithin(known, base, quote) };
  }
  const before = type === 'liquidityAdded' ? quote - quoteAmount : quote + quoteAmount;
  const isKnown = quote === 0n || (depth >= 0n && before > 0n);
  return { priceQuote, priceBase, reserves: null, depth: isKnown ? (quote === 0n ? 0n : (depth * quote) / before) : null };
}

function seenOf(
  { signature, slot, commitment, receivedUs, blockTime, late }: DecodedTransaction,
  { timestamp }: ReservesChanged | LiquidityChanged,
) {
  return { signature, slot, blockTime: blockTime ?? timestamp, commitment, ts: { received: receivedUs, published: 0 }, late };
}

/** Trades of pools show the token's supply, those of curves never do. For an older layout the mint's account is read. */
function learnSupply(pool: Pool, { supply }: VenueTrade): void {
  const token = pool.token!;
  if (supply === null) {
    if (!pool.isCurve) token.supplyByMint = true;
  } else if (!token.supplyByMint) token.supply = supply;
}

/** The price from the reserves. If the event contains no base reserve, the last known one is used. Null if none is known. */
function priceStateOf({ virtualBase, virtualQuote, realBase, realQuote }: ChangedReserves, pool: Pool): PriceState | null {
  const lastBase = pool.tickBase >= 0n ? pool.tickBase : pool.openedBase;
  if (virtualBase !== null && realBase !== null) return stateOfReserves({ virtualBase, virtualQuote, realBase, realQuote });
  return lastBase < 0n ? null : stateOfReserves({ virtualBase: lastBase, virtualQuote, realBase: lastBase, realQuote });
}

function marketOf({ venue, address, token, quote }: Pool): EventPool {
  return {
    venue: venue.name,
    poolAddress: address,
    mint: token!.mint,
    baseDecimals: token!.decimals!,
    quoteMint: quote!.mint,
    quoteDecimals: quote!.decimals!,
    supply: token!.supply,
  };
}

export function buysOfCreator({ events }: DecodedTransaction, { pool, trader }: TokenCreated): VenueTrade[] {
  const buys: VenueTrade[] = [];
  for (const { event } of events) {
    if (event.type === 'trade' && event.pool === pool && event.side === 'buy' && event.trader === trader) buys.push(event);
  }
  return buys;
}

/** True for the last trade on a curve before its completion in the same transaction. */
export function completesCurve({ events }: DecodedTransaction, trade: VenueTrade): boolean {
  if (events.length < 2) return false;
  let last: VenueTrade | null = null;
  for (const { event } of events) {
    if (event.type === 'trade' && event.pool === trade.pool) last = event;
    else if (event.type === 'completed' && event.pool === trade.pool) return last === trade;
  }
  return false;
}
