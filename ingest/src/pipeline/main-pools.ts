import { poolPriceOf, rawDepth } from '@sluice/shared/market/pools/depth.ts';
import {
  firstMain,
  isInDoubt,
  placeOf,
  placeOfRead,
  priceCounts,
  takePlace,
  unprovenSince,
  type PoolPrice,
} from '@sluice/shared/market/pools/main-pool.ts';
import { SettledPrice } from '@sluice/shared/market/pools/settled-price.ts';
import { toUi } from '@sluice/shared/solana/encoding/amounts.ts';
import { finite, inSol, inUsd, valuedCoins } from '@sluice/shared/wire/values/money.ts';
import { poolsAt, type PoolPlace } from '@sluice/venues/kit/pool-accounts.ts';
import { stateOfReserves } from '@sluice/venues/kit/constant-product.ts';
import { priceOf } from '@sluice/venues/seam/price.ts';
import type { PriceState, Venue, VenueTrade } from '@sluice/venues/seam/venue.ts';
import type { PriceEvent, TradeEvent } from '@sluice/shared/wire/events/events.ts';
import type { OutgoingPool } from '../publisher/outgoing.ts';
import type { AccountFetcher } from '../sources/rpc/account-fetcher.ts';
import type { DecodedTransaction } from './decode.ts';
import { ratesAt, valuation, type EventRates } from './price.ts';
import type { Pool, Token } from './pools.ts';
import type { SolUsdFeed } from './sol-usd.ts';

/** How long the pools of a token are not read again. */
const readAgainAfterS = 600;
/** Concurrent reads without a waiting trade. Above this limit, the next trade asks again. */
const maxReads = 100;

export interface MainPoolReaderParts {
  readonly venues: readonly Venue[];
  readonly accounts: AccountFetcher;
  readonly solUsd: SolUsdFeed;
  readonly simulated: boolean;
  /** Called with each main pool that was read. */
  readonly onPool: (read: OutgoingPool) => void;
}

/** The trade for which the chain is read. */
export interface TradeSeen {
  readonly slot: number;
  readonly atS: number;
  readonly receivedUs: number;
}

/** The main pool of a token must be read. */
export interface MainNeed {
  readonly mainOf: Token;
  readonly seen: TradeSeen;
}

export function tradeSeen({ slot, blockTime, receivedUs }: DecodedTransaction, { timestamp }: VenueTrade): TradeSeen {
  return { slot, atS: blockTime ?? timestamp ?? Math.floor(receivedUs / 1_000_000), receivedUs };
}

/**
 * Reads from the chain which pool is the main one of a token: its bonding curve until that is complete, then the pool to which curves migrate.
 * Only their addresses follow from the mint. Anyone can open other pools, so one of these is the main pool only if none of those exists.
 */
export class MainPoolReader {
  readonly #parts: MainPoolReaderParts;
  readonly #reading = new Map<Token, Promise<void>>();

  constructor(parts: MainPoolReaderParts) {
    this.#parts = parts;
  }

  /** Whether a trade in this pool must wait for a read, because nothing shows which pool is the main one. */
  isNeeded({ token, isCurve }: Pool): boolean {
    return !isCurve && token !== null && token.main === null && token.mainReadS === null;
  }

  /** Reads if another pool trades and the end of the main one may have been missed. */
  readIfInDoubt({ token, address }: Pool, seen: TradeSeen): void {
    if (token?.main == null || token.main.poolAddress === address || !isInDoubt(token.main, seen.atS)) return;
    const isDue = token.mainReadS === null || seen.atS - token.mainReadS > readAgainAfterS;
    if (isDue && this.#reading.size < maxReads) void this.read(token, seen);
  }

  /** Reads and notes the main pool. If no endpoint answers, the token stays as it is. Never rejects. */
  read(token: Token, seen: TradeSeen): Promise<void> {
    let reading = this.#reading.get(token);
    if (reading === undefined) this.#reading.set(token, (reading = this.#read(token, seen).finally(() => this.#reading.delete(token))));
    return reading;
  }

  async #read(token: Token, { slot, atS, receivedUs }: TradeSeen): Promise<void> {
    const { venues, accounts, solUsd, simulated, onPool } = this.#parts;
    token.mainReadS = atS;
    const places = venues.flatMap((venue) =>
      venue.derivedPools(token.mint).map((pool): PoolPlace => ({ ...pool, venue, isDerived: true })),
    );
    const addresses = [...new Set(places.flatMap(({ address, vaults }) => [address, ...vaults]))];
    const fetched = await Promise.all(addresses.map((address) => accounts.fetch(address)));
    if (fetched.some(({ kind }) => kind === 'unavailable')) return;
    const states = new Map(fetched.map((account, at) => [addresses[at]!, account.kind === 'found' ? account.state : null]));
    const { curve, pools } = poolsAt(token.mint, places, states);
    const rates = ratesAt(solUsd, receivedUs);
    const curveOver = curve?.account.complete ?? false;
    const seen = pools.map(({ venue, address, account, reserves }) =>
      priceAt(token, venue, address, account.quoteMint, account.price ?? (reserves && stateOfReserves(reserves)), atS, rates),
    );
    // A complete curve has the last price until its pool opens.
    if (curve !== null && (!curveOver || seen.length === 0)) {
      const { venue, address, account } = curve;
      seen.splice(0, seen.length, priceAt(token, venue, address, account.quoteMint, stateOfReserves(account.reserves), atS, rates));
    }
    const [main] = seen.toSorted((a, b) => (b.depthSol ?? 0) - (a.depthSol ?? 0));
    if (main === undefined || !takeRead(token, main, slot, curveOver)) return;
    const { pool: venue, poolAddress: address, quoteMint, priceQuote, priceUsd } = main;
    const depthSol = main.depthSol ?? 0;
    const news = { mint: token.mint, venue, address, quoteMint, depthSol, slot, main: { atS, priceQuote, priceUsd, curveOver, simulated } };
    onPool({ type: 'pool', ...news, ts: { received: receivedUs, published: 0 } });
  }
}

function priceAt(
  { decimals }: Token,
  venue: Venue,
  poolAddress: string,
  quoteMint: string,
  state: PriceState | null,
  atS: number,
  rates: EventRates,
): PoolPrice {
  const coin = valuedCoins.get(quoteMint);
  const seen = { pool: venue.name, poolAddress, quoteMint, sizeSol: null, atS };
  if (coin === undefined || state === null || decimals === null) return { ...seen, depthSol: null, priceQuote: null, priceUsd: null };
  const { reserves, depth } = state;
  const raw = rawDepth(
    reserves === null ? null : String(reserves.virtualQuote),
    reserves === null ? null : String(reserves.realQuote),
    depth === null ? null : String(depth),
  );
  const priceQuote = priceOf(state, decimals, coin.decimals);
  return {
    ...seen,
    depthSol: raw === null ? null : inSol(raw / 10 ** coin.decimals, quoteMint, rates),
    priceQuote,
    priceUsd: priceQuote === null ? null : inUsd(priceQuote, quoteMint, rates),
  };
}

/**
 * Updates the main pool of the token and its price by a trade, and gives the event its market cap. A late trade changes only the event, unless nothing
 * is known of the token.
 */
export function takeTrade(token: Token, event: TradeEvent, rates: EventRates): void {
  const seen = poolPriceOf(event);
  const { main } = token;
  if (main === null || event.late !== true) {
    const place = placeOf(main, seen);
    if (main === null) token.main = firstMain(seen);
    else {
      if (place === 'successor') beginOther(token, seen);
      takePlace(main, seen, place);
    }
    noteSpot(token, seen, event.slot, event.priceQuoteBefore);
  }
  if (event.curveCompleted === true && token.main!.poolAddress === event.poolAddress) token.main!.curveOver = true;
  event.mainPool = token.main!.poolAddress;
  setCaps(token, event, rates);
}

/** The same for a price without a trade. It makes its pool the main one only if that is a curve and nothing is known of the token. */
export function takeTick(token: Token, isCurve: boolean, event: PriceEvent, rates: EventRates): void {
  const seen = poolPriceOf(event);
  if (token.main === null && isCurve) token.main = firstMain(seen);
  const { main } = token;
  if (main?.poolAddress === event.poolAddress && event.late !== true) takePlace(main, { ...seen, atS: main.mainTradedS }, 'main');
  if (event.late !== true) noteSpot(token, seen, event.slot, null);
  event.mainPool = token.main?.poolAddress ?? null;
  setCaps(token, event, rates);
}

/** Takes the pool that a creation or a migration names as the main one. */
export function takeNamed(token: Token, seen: PoolPrice, slot: number, curveOver: boolean, before: number | null = null): void {
  const { main } = token;
  if (main === null) token.main = firstMain(seen, true);
  else if (main.poolAddress === seen.poolAddress) takePlace(main, seen, 'main', true);
  else {
    beginOther(token, seen);
    takePlace(main, seen, 'successor', true);
  }
  token.main!.curveOver = curveOver;
  noteSpot(token, seen, slot, before);
}

/** Takes the main pool as the chain shows it. Returns whether it is the main one. */
function takeRead(token: Token, seen: PoolPrice, slot: number, curveOver: boolean): boolean {
  if (token.main !== null && placeOfRead(token.main, seen) === 'other') return false;
  takeNamed(token, seen, slot, curveOver, seen.priceQuote);
  return true;
}

/** Another pool becomes the main pool. The price that counted before counts on, unless this price is removed, or in another coin. */
function beginOther(token: Token, { quoteMint, atS }: PoolPrice): void {
  if (token.main!.quoteMint !== quoteMint || unprovenSince(token.main!, atS) !== null) token.settled = null;
}

/** Follows the spot price of the main pool. `before`: the spot price before the change; null if unknown. */
function noteSpot(token: Token, seen: PoolPrice, slot: number, before: number | null): void {
  if (token.main?.poolAddress !== seen.poolAddress || !priceCounts(seen)) return;
  if (token.settled === null) token.settled = new SettledPrice(slot, seen.priceQuote!, before);
  else token.settled.note(slot, seen.priceQuote!);
}

/** The market caps of an event: by the price that counts in its slot. */
export function setCaps(
  { main, settled, supply, decimals }: Token,
  event: Pick<PriceEvent, 'slot' | 'marketCapSol' | 'marketCapUsd'>,
  rates: EventRates,
): void {
  // The mint of wrapped SOL states a supply of 0: such a coin has no market cap.
  if (main === null || settled === null || supply === null || supply === 0n) return;
  const tokens = toUi(supply, decimals!);
  const { priceSol, priceUsd } = valuation(settled.at(event.slot), main.quoteMint, rates);
  event.marketCapSol = priceSol === null ? null : finite(priceSol * tokens);
  event.marketCapUsd = priceUsd === null ? null : finite(priceUsd * tokens);
}
