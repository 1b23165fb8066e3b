import { rawDepth } from '@sluice/shared/market/pools/depth.ts';
import { inSol, valuedCoins, type Rates } from '@sluice/shared/wire/values/money.ts';
import { toUi } from '@sluice/shared/solana/encoding/amounts.ts';
import { stateOfReserves } from '@sluice/venues/kit/constant-product.ts';
import { priceOf, wireReserves } from '@sluice/venues/seam/price.ts';
import type { CurveFacts, PoolFacts } from '@sluice/venues/kit/pool-accounts.ts';
import type { PriceState } from '@sluice/venues/seam/venue.ts';
import type { Commitment, PriceEvent, Reserves, VenueName } from '@sluice/shared/wire/events/events.ts';
import type { TokenFacts } from './token-facts.ts';

/** The last known state of a pool of a token. */
export interface PoolState {
  readonly venue: VenueName;
  readonly address: string;
  readonly quoteMint: string;
  /** Quote coins for one token. Null: the pool is empty, or the price is unknown. */
  readonly priceQuote: number | null;
  readonly reserves: Reserves | null;
  /** Its depth in raw quote coins if reserves do not determine it; null if it is unknown, or if there are reserves. */
  readonly depth: string | null;
  /** Decimals of the quote coin. Null: only the price is known. */
  readonly quoteDecimals: number | null;
  readonly slot: number;
  readonly commitment: Commitment;
  /** When it was read or received, Unix milliseconds. */
  readonly atMs: number;
  /** Whether it comes from a read of the chain or from an event. */
  readonly source: 'chain' | 'event';
}

/** An event that is received this long after a read of the chain is newer than the read, even if the node reported a later slot. */
const readHoldsMs = 2_000;

/** The state of a curve or pool as of the read that found it. */
export function stateAtRead({ token, slot, askedAtMs }: TokenFacts, found: CurveFacts | PoolFacts): PoolState {
  const { venue, address, account } = found;
  const { quoteMint } = account;
  const quoteDecimals = valuedCoins.get(quoteMint)?.decimals ?? null;
  const state = 'isDerived' in found ? stateOfPool(found) : stateOfReserves(found.account.reserves);
  const reserves = state?.reserves ?? null;
  return {
    venue: venue.name,
    address,
    quoteMint,
    priceQuote: state === null || quoteDecimals === null ? null : priceOf(state, token.decimals, quoteDecimals),
    reserves: reserves === null || reserves.virtualQuote < 0n ? null : wireReserves(reserves),
    depth: state?.depth?.toString() ?? null,
    quoteDecimals,
    slot,
    commitment: 'processed',
    atMs: askedAtMs,
    source: 'chain',
  };
}

/** The account of a pool of concentrated liquidity states its price. */
function stateOfPool({ account: { price }, reserves, quoteHeld }: PoolFacts): PriceState | null {
  if (price === null) return reserves === null ? null : stateOfReserves(reserves);
  if (price.priceBase <= 0n || price.priceQuote <= 0n) return null;
  // Liquidity within a narrow range costs little, so the depth is at most what the pool can pay out.
  const depth = price.depth === null || quoteHeld === null ? null : price.depth < quoteHeld ? price.depth : quoteHeld;
  return { ...price, depth };
}

/** The state of a pool after a price event. */
export function stateOfPrice(event: PriceEvent): PoolState {
  return {
    venue: event.pool,
    address: event.poolAddress,
    quoteMint: event.quoteMint,
    priceQuote: event.priceQuote,
    reserves: event.reserves,
    depth: event.depth ?? null,
    quoteDecimals: valuedCoins.get(event.quoteMint)?.decimals ?? null,
    slot: event.slot,
    commitment: event.commitment,
    atMs: receivedAtMs(event),
    source: 'event',
  };
}

/** Whether the known state of the same pool is newer than the event. */
export function isOutdated(event: PriceEvent, known: PoolState): boolean {
  return !(event.late === true ? known.slot <= event.slot : isFollowedBy(known, { slot: event.slot, atMs: receivedAtMs(event) }));
}

/** Whether a state from an event is at least as new as the known one. */
export function isFollowedBy(known: PoolState, { slot, atMs }: Pick<PoolState, 'slot' | 'atMs'>): boolean {
  return known.slot <= slot || (known.source === 'chain' && atMs > known.atMs + readHoldsMs);
}

/** Quote coins that a pool holds and can pay out, without virtual ones; null if the decimals of the coin are unknown. */
export function heldUi({ quoteDecimals, reserves }: PoolState, quoteHeld: bigint | null): number | null {
  const raw = reserves === null ? quoteHeld : BigInt(reserves.realQuote);
  return raw === null || quoteDecimals === null ? null : toUi(raw, quoteDecimals);
}

/** Depth of the pool in SOL; null if it is unknown. `rates`: what quote coins are worth. */
export function depthOf({ reserves, depth, quoteMint, quoteDecimals }: PoolState, rates: Rates): number | null {
  if (quoteDecimals === null) return null;
  const raw = rawDepth(reserves?.virtualQuote ?? null, reserves?.realQuote ?? null, depth);
  return raw === null ? null : inSol(raw / 10 ** quoteDecimals, quoteMint, rates);
}

export function receivedAtMs({ ts }: Pick<PriceEvent, 'ts'>): number {
  return Math.round(ts.received / 1000);
}
