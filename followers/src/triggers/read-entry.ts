import type { LogEntry } from '@sluice/shared/bus/bus.ts';
import { depthShare } from '@sluice/shared/market/pools/depth-share.ts';
import { readVerdict } from '@sluice/shared/market/verdicts/slot-verdict.ts';
import type { MigrationEvent, PriceEvent, TradeEvent } from '@sluice/shared/wire/events/events.ts';
import { accountTradesTopic, allTradesTopic, migrationsTopic, pricesTopic } from '@sluice/shared/wire/stream/topics.ts';
import { wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { isCurveVenue } from '@sluice/shared/wire/venues.ts';
import { quoteInSol, rawInSol, valuedCoins } from '@sluice/shared/wire/values/money.ts';
import type { WatchEvent, WatchIndex } from './watch-index.ts';
import type { PriceTick } from './watch.ts';

const pricesPrefix = pricesTopic('');
const accountPrefix = accountTradesTopic('');

/** What is watched: an entry of anything else is not decoded. */
type Watched = Pick<WatchIndex, 'hasMint' | 'hasAccount' | 'hasMigrations'>;

/** What the index uses of an entry; null if nothing. The topics decide whether it is decoded. */
export function readWatched(entry: LogEntry, watched: Watched): WatchEvent | null {
  const topic = entry.topics[0]?.topic ?? '';
  if (topic.startsWith(pricesPrefix)) {
    const mint = topic.slice(pricesPrefix.length);
    return watched.hasMint(mint) ? checked(() => readPrice(entry, mint)) : null;
  }
  if (topic === allTradesTopic) {
    const isWatched = entry.topics.some(
      ({ topic: other }) => other.startsWith(accountPrefix) && watched.hasAccount(other.slice(accountPrefix.length)),
    );
    return isWatched ? checked(() => readTrade(entry)) : null;
  }
  if (topic === migrationsTopic) return watched.hasMigrations ? checked(() => readMigration(entry)) : null;
  const verdict = readVerdict(entry);
  return verdict === null ? null : { kind: 'slots', verdict };
}

/** Null for other bytes: the bus carries any, not only those that ingest publishes. */
function checked(read: () => WatchEvent | null): WatchEvent | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof TypeError || error instanceof SyntaxError) return null;
    throw error;
  }
}

function readPrice(entry: LogEntry, mint: string): WatchEvent | null {
  const event = entry.eventOrNull;
  if (event?.type === 'retract') return { kind: 'retract', mint, id: event.id, of: 'price' };
  return event?.type === 'price' && event.mint === mint && event.mainPool === event.poolAddress ? tickOf(event) : null;
}

/** The price of a pool, in the unit of its quote coin. A price in the other unit changes with the price of SOL. */
function tickOf(event: PriceEvent): PriceTick {
  const { mint, id, slot, pool, quoteMint, priceSol, priceUsd, reserves, ts } = event;
  const unit = valuedCoins.get(quoteMint)?.unit ?? 'sol';
  const curve = isCurveVenue(pool)
    ? { realBase: Number(reserves?.realBase ?? Number.NaN), realQuote: Number(reserves?.realQuote ?? Number.NaN) }
    : null;
  return {
    kind: 'price',
    mint,
    id,
    slot,
    isSettled: event.commitment !== 'processed',
    price: (unit === 'sol' ? priceSol : priceUsd) ?? Number.NaN,
    unit,
    heldSol: heldSol(event),
    curve,
    receivedUs: ts.received,
    publishedUs: ts.published,
  };
}

function heldSol({ quoteMint, priceQuote, priceSol, reserves, depth }: PriceEvent): number | null {
  if (reserves !== null) {
    return rawInSol(Math.min(Number(reserves.virtualQuote), Number(reserves.realQuote)), quoteMint, priceQuote, priceSol);
  }
  return depth === undefined ? null : rawInSol(Number(depth) / depthShare, quoteMint, priceQuote, priceSol);
}

function readTrade(entry: LogEntry): WatchEvent | null {
  const event = entry.eventOrNull;
  if (event?.type === 'retract') return { kind: 'retract', mint: null, id: event.id, of: 'event' };
  if (event?.type !== 'trade') return null;
  const { mint, id, trader: account, side, baseAmount, quoteAmount, quoteMint } = event;
  const sizeSol = quoteInSol(event.quoteUiAmount, quoteMint, event.priceQuote, event.priceSol);
  const lamports = quoteMint === wrappedSolMint ? quoteAmount : Math.floor((sizeSol ?? 0) * 1e9).toString();
  return { kind: 'trade', mint, id, account, side, sizeSol, baseAmount, lamports, offset: entry.offset, ...momentOf(event) };
}

function readMigration(entry: LogEntry): WatchEvent | null {
  const event = entry.eventOrNull;
  if (event?.type === 'retract') return { kind: 'retract', mint: null, id: event.id, of: 'event' };
  return event?.type === 'migration'
    ? { kind: 'migration', mint: event.mint, id: event.id, offset: entry.offset, ...momentOf(event) }
    : null;
}

/** What was read from the history of the chain happened at its block time, which is in seconds. */
function momentOf({ slot, commitment, blockTime, late, ts }: TradeEvent | MigrationEvent) {
  const receivedMs = Math.floor(ts.received / 1000);
  const atMs = late === true && blockTime !== null ? Math.min(receivedMs, (blockTime + 1) * 1000) : receivedMs;
  return { slot, isSettled: commitment !== 'processed', atMs, receivedUs: ts.received, publishedUs: ts.published };
}
