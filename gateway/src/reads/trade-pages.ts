import { tsPublishedIn } from '@sluice/shared/codec/event-searches.ts';
import { marketLimits, type MarketReader } from '@sluice/shared/market/market.ts';
import { tradesTopic } from '@sluice/shared/wire/topics.ts';
import type { History } from '../stream/history/history.ts';
import { idOf, isRetract, surviving } from './surviving.ts';

/** Trades looked at to find the one that a page begins behind. */
const maxScanned = 20_000;

/** One page of a mint's trades, newest first, as published. */
export interface TradePage {
  readonly trades: readonly Buffer[];
  /** Id of the last of them where older ones are kept; else null. */
  readonly next: string | null;
}

/**
 * Trades out of this gateway's memory of the log, and behind it out of the record of the market, each once. Where `before` is
 * kept in neither, the page is empty. What was taken back is left out. Rejects where the record cannot be read.
 */
export async function readTrades(
  parts: { readonly history: History; readonly market: Pick<MarketReader, 'trades'> },
  mint: string,
  before: string | null,
  limit: number,
): Promise<TradePage> {
  const recent = new RecentTrades(parts.history, tradesTopic(mint));
  const begin = before === null ? recent.newest : recent.seqOf(before);
  // One more than asked for tells whether there is more.
  const found = begin === null ? [] : recent.from(before === null ? begin : begin - 1, limit + 1).trades;
  const held = recent.from(recent.newest, marketLimits.tradesPerMint);
  if (found.length <= limit && held.trades.length < marketLimits.tradesPerMint) {
    const kept = (await parts.market.trades(mint, null, marketLimits.tradesPerMint)).map(asBuffer);
    // The record may be a moment behind what took them back.
    const older = olderThan(kept, held.trades).filter((trade) => !held.takenBack.has(idOf(trade)));
    if (begin !== null) found.push(...older);
    else {
      const at = older.findIndex((trade) => idOf(trade) === before);
      if (at !== -1) found.push(...older.slice(at + 1));
    }
  }
  const trades = found.slice(0, limit);
  return { trades, next: found.length > limit ? idOf(trades.at(-1)!) : null };
}

/** The retained trades of one mint. The bytes are copies: the history's own may change with the next entry. */
class RecentTrades {
  readonly newest: number;
  readonly #history: History;
  readonly #topic: string;

  constructor(history: History, topic: string) {
    this.#history = history;
    this.#topic = topic;
    this.newest = history.newest(topic);
  }

  /** Null where it is not among the newest `maxScanned`. It may have been taken back. */
  seqOf(id: string): number | null {
    const mark = Buffer.from(`"id":"${id}"`);
    for (let seq = this.newest; seq >= Math.max(1, this.#history.oldest(this.#topic)) && seq > this.newest - maxScanned; seq--) {
      const stored = this.#history.read(this.#topic, seq);
      if (stored === null || isRetract(stored.json)) continue;
      // The id stands near the beginning.
      const head = asBuffer(stored.json).subarray(0, mark.length + 64);
      if (head.includes(mark)) return seq;
    }
    return null;
  }

  /** At most `limit`, newest first, from `seq` downwards; and ids of older ones that are taken back. */
  from(seq: number, limit: number): { readonly trades: Buffer[]; readonly takenBack: ReadonlySet<string> } {
    const trades: Buffer[] = [];
    const takenBack = new Set<string>();
    for (const trade of surviving(this.#history, this.#topic, takenBack)) {
      if (trade.seq > seq) continue;
      if (trades.length >= limit) break;
      trades.push(Buffer.from(trade.json));
    }
    return { trades, takenBack };
  }
}

/** Of `kept` (newest first) those older than all of `held` (newest first). */
function olderThan(kept: readonly Buffer[], held: readonly Buffer[]): Buffer[] {
  const ids = new Set(held.map(idOf));
  const lastCommon = kept.findLastIndex((trade) => ids.has(idOf(trade)));
  if (lastCommon !== -1) return kept.slice(lastCommon + 1);
  const oldest = held.at(-1);
  const publishedUs = oldest === undefined ? null : tsPublishedIn(oldest);
  return publishedUs === null ? [...kept] : kept.filter((trade) => (tsPublishedIn(trade) ?? 0) < publishedUs);
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
