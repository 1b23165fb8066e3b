import type { Price, TokenInfo, Trade } from '@sluice/client';
import { decimalsOf } from '../format/quote-coin.ts';

/** What an event shows of a pool: a trade, or a change without one. */
export type Seen = Trade | Price;
type Pool = TokenInfo['pools'][number];

/**
 * The token at the newest events of its pools. The answer of the gateway is up to some seconds old; prices, market cap and liquidity are then those
 * of the trades that the page shows below.
 */
export function atNewest(info: TokenInfo, seen: readonly Seen[]): TokenInfo {
  const newest = new Map<string, Seen>();
  for (const one of seen) {
    const last = newest.get(one.poolAddress);
    if (one.priceQuote !== null && (last === undefined || isNewer(one, last))) newest.set(one.poolAddress, one);
  }
  const pools = info.pools.map((pool) => {
    const one = newest.get(pool.poolAddress);
    return one === undefined || !changes(pool, one) ? pool : poolAt(pool, one);
  });
  const main = pools.find(({ poolAddress }) => poolAddress === info.poolAddress);
  const event = newest.get(info.poolAddress ?? '');
  // Without ingest there is no price, even if there was one before.
  if (main === undefined || info.priceNullReason !== null) return { ...info, pools };
  // Spot, as below. The price of the answer itself is the one that counts for its market cap.
  const { priceQuote, priceSol, priceUsd, liquiditySol, liquidityUsd } = main;
  const { marketCapSol, marketCapUsd } = event === undefined || info.pools.includes(main) ? info : event;
  return { ...info, pools, priceQuote, priceSol, priceUsd, liquiditySol, liquidityUsd, marketCapSol, marketCapUsd };
}

/** Events of one slot come in their order. A late one belongs before those that are known. */
function isNewer(one: Seen, than: Seen): boolean {
  return one.slot === than.slot ? one.ts.received > than.ts.received && one.late !== true : one.slot > than.slot;
}

/** The event is newer than what was read. If its price is the same, the answer has the newer value of SOL. */
function changes(pool: Pool, { slot, priceQuote }: Seen): boolean {
  return slot > pool.slot || (slot === pool.slot && priceQuote !== pool.priceQuote);
}

function poolAt(pool: Pool, event: Seen): Pool {
  const { slot, priceQuote, priceSol, priceUsd, quoteMint, reserves } = event;
  const decimals = decimalsOf(quoteMint);
  const prices = { ...pool, slot, priceQuote, priceSol, priceUsd };
  if (reserves === null || decimals === null || priceQuote === null || priceQuote === 0) return prices;
  const held = Number(reserves.realQuote) / 10 ** decimals;
  const worth = (price: number | null): number | null => (price === null ? null : held * (price / priceQuote));
  return { ...prices, liquiditySol: worth(priceSol), liquidityUsd: worth(priceUsd) };
}
