import { tsPublishedIn } from '@sluice/shared/codec/json-search.ts';
import { marketLimits, type MarketReader } from '@sluice/shared/market/market.ts';
import { tradesTopic } from '@sluice/shared/wire/stream/topics.ts';
import type { History } from '../../stream/history/history.ts';
import { idOf, isRetract, surviving } from '../surviving.ts';

/** Maximum number of trades searched for the one after which a page begins. */
const maxScanned = 20_000;

/** One page of a mint's trades, newest first, as published. */
export interface TradePage {
  readonly trades: readonly Buffer[];
  /** Id of the last trade of the page if older ones are stored; otherwise null. */
  readonly next: string | null;
}

/**
 * Reads trades from this gateway's history, and older ones from the stored state of the market, each once. If neither contains `before`,
 * the page is empty. Retracted trades are left out. Rejects if the stored state cannot be read.
 */
export async function readTrades(
  parts: { readonly history: History; readonly market: Pick<MarketReader, 'trades'> },
  mint: string,
  before: string | null,
  limit: number,
): Promise<TradePage> {
  const recent = new RecentTrades(parts.history, tradesTopic(mint));
  const begin = before === null ? recent.newest : recent.seqOf(before);
  // Read one more than requested, to know whether more exist.
  const found = begin === null ? [] : recent.from(before === null ? begin : begin - 1, limit + 1).trades;
  const held = recent.from(recent.newest, marketLimits.tradesPerMint);
  if (found.length <= limit && held.trades.length < marketLimits.tradesPerMint) {
    const stored = (await parts.market.trades(mint, null, marketLimits.tradesPerMint)).map(asBuffer);
    // The stored state may still contain trades that were retracted a moment ago.
    const older = olderThan(stored, held.trades).filter((trade) => !held.retracted.has(idOf(trade)));
    if (begin !== null) found.push(...older);
    else {
      const at = older.findIndex((trade) => idOf(trade) === before);
      if (at !== -1) found.push(...older.slice(at + 1));
    }
  }
  const trades = found.slice(0, limit);
  return { trades, next: found.length > limit ? idOf(trades.at(-1)!) : null };
}

/** The trades of one mint in the history. The bytes are copies, because the history reuses its memory. */
class RecentTrades {
  readonly newest: number;
  readonly #history: History;
  readonly #topic: string;

  constructor(history: History, topic: string) {
    this.#history = history;
    this.#topic = topic;
    this.newest = history.newest(topic);
  }

  /** Null: not among the newest `maxScanned`. The trade may have been retracted. */
  seqOf(id: string): number | null {
    const mark = Buffer.from(`"id":"${id}"`);
    for (let seq = this.newest; seq >= Math.max(1, this.#history.oldest(this.#topic)) && seq > this.newest - maxScanned; seq--) {
      const stored = this.#history.read(this.#topic, seq);
      if (stored === null || isRetract(stored.json)) continue;
      // The id is near the beginning.
      const head = asBuffer(stored.json).subarray(0, mark.length + 64);
      if (head.includes(mark)) return seq;
    }
    return null;
  }

  /** At most `limit` trades, newest first, from `seq` downwards, and the ids of older ones that are retracted. */
  from(seq: number, limit: number): { readonly trades: Buffer[]; readonly retracted: ReadonlySet<string> } {
    const trades: Buffer[] = [];
    const retracted = new Set<string>();
    for (const trade of surviving(this.#history, this.#topic, retracted)) {
      if (trade.seq > seq) continue;
      if (trades.length >= limit) break;
      trades.push(Buffer.from(trade.json));
    }
    return { trades, retracted };
  }
}

/** Of `stored` (newest first) those older than all of `held` (newest first). */
function olderThan(stored: readonly Buffer[], held: readonly Buffer[]): Buffer[] {
  const ids = new Set(held.map(idOf));
  const lastCommon = stored.findLastIndex((trade) => ids.has(idOf(trade)));
  if (lastCommon !== -1) return stored.slice(lastCommon + 1);
  const oldest = held.at(-1);
  const publishedUs = oldest === undefined ? null : tsPublishedIn(oldest);
  return publishedUs === null ? [...stored] : stored.filter((trade) => (tsPublishedIn(trade) ?? 0) < publishedUs);
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
