import { marketLimits, type MarketReader } from '@sluice/shared/market/market.ts';
import { tradesTopic } from '@sluice/shared/wire/topics.ts';
import type { History } from '../stream/history.ts';

/** Trades looked at to find the one that a page begins behind. */
const maxScanned = 20_000;
const idMark = Buffer.from('"id":"');
const publishedMark = Buffer.from('"published":');

/** One page of a mint's trades, newest first, as published. */
export interface TradePage {
  readonly trades: readonly Buffer[];
  /** Id of the last of them where older ones are kept; else null. */
  readonly next: string | null;
}

/**
 * Trades out of this gateway's memory of the log, and behind it out of the record of the market, each once. Where `before` is
 * kept in neither, the page is empty. Rejects where the record cannot be read.
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
  const found = begin === null ? [] : recent.from(before === null ? begin : begin - 1, limit + 1);
  if (found.length <= limit && recent.count < marketLimits.tradesPerMint) {
    const held = recent.from(recent.newest, marketLimits.tradesPerMint);
    const kept = (await parts.market.trades(mint, null, marketLimits.tradesPerMint)).map(asBuffer);
    const older = olderThan(kept, held);
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
  readonly #oldest: number;
  readonly #history: History;
  readonly #topic: string;

  constructor(history: History, topic: string) {
    this.#history = history;
    this.#topic = topic;
    this.newest = history.newest(topic);
    this.#oldest = history.oldest(topic);
  }

  get count(): number {
    return this.newest === 0 ? 0 : this.newest - this.#oldest + 1;
  }

  /** Null where it is not among the newest `maxScanned`. */
  seqOf(id: string): number | null {
    const mark = Buffer.from(`"id":"${id}"`);
    for (let seq = this.newest; seq >= Math.max(1, this.#oldest) && seq > this.newest - maxScanned; seq--) {
      const stored = this.#history.read(this.#topic, seq);
      // The id stands near the beginning.
      if (
        stored !== null &&
        asBuffer(stored.json)
          .subarray(0, mark.length + 64)
          .includes(mark)
      )
        return seq;
    }
    return null;
  }

  /** At most `limit`, newest first, from `seq` downwards. */
  from(seq: number, limit: number): Buffer[] {
    const found: Buffer[] = [];
    for (let at = seq; at >= Math.max(1, this.#oldest) && found.length < limit; at--) {
      const stored = this.#history.read(this.#topic, at);
      if (stored === null) break;
      found.push(Buffer.from(stored.json));
    }
    return found;
  }
}

/** Of `kept` (newest first) those older than all of `held` (newest first). */
function olderThan(kept: readonly Buffer[], held: readonly Buffer[]): Buffer[] {
  const ids = new Set(held.map(idOf));
  const lastCommon = kept.findLastIndex((trade) => ids.has(idOf(trade)));
  if (lastCommon !== -1) return kept.slice(lastCommon + 1);
  const oldest = held.at(-1);
  return oldest === undefined ? [...kept] : kept.filter((trade) => publishedOf(trade) < publishedOf(oldest));
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function idOf(trade: Buffer): string {
  const from = trade.indexOf(idMark) + idMark.length;
  return trade.toString('latin1', from, trade.indexOf('"', from));
}

function publishedOf(trade: Buffer): number {
  const from = trade.indexOf(publishedMark) + publishedMark.length;
  return Number.parseInt(trade.toString('latin1', from, from + 20), 10);
}
