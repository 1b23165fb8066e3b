import { bufferOf, parseJson } from '@sluice/shared/codec/bytes.ts';
import { marketLimits, type MarketReader } from '@sluice/shared/market/market.ts';
import type { TradeEvent } from '@sluice/shared/wire/events/events.ts';
import { tradesTopic } from '@sluice/shared/wire/stream/topics.ts';
import type { History } from '../../stream/history/history.ts';
import { surviving } from '../surviving.ts';

/** Maximum number of trades searched for the one after which a page begins. */
const maxScanned = 20_000;

interface Trade {
  readonly json: Buffer;
  readonly event: TradeEvent;
}

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
    const stored = (await parts.market.trades(mint, null, marketLimits.tradesPerMint)).map((json): Trade => ({
      json: bufferOf(json),
      event: parseJson(json) as TradeEvent,
    }));
    // The stored state may still contain trades that were retracted a moment ago.
    const older = olderThan(stored, held.trades).filter((trade) => !held.retracted.has(trade.event.id));
    if (begin !== null) found.push(...older);
    else {
      const at = older.findIndex(({ event }) => event.id === before);
      if (at !== -1) found.push(...older.slice(at + 1));
    }
  }
  const trades = found.slice(0, limit);
  return { trades: trades.map(({ json }) => json), next: found.length > limit ? trades.at(-1)!.event.id : null };
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
    for (let seq = this.newest; seq >= Math.max(1, this.#history.oldest(this.#topic)) && seq > this.newest - maxScanned; seq--) {
      const stored = this.#history.read(this.#topic, seq);
      const event = stored?.eventOrNull ?? null;
      if (event !== null && event.type !== 'retract' && event.id === id) return seq;
    }
    return null;
  }

  /** At most `limit` trades, newest first, from `seq` downwards, and the ids of older ones that are retracted. */
  from(seq: number, limit: number): { readonly trades: Trade[]; readonly retracted: ReadonlySet<string> } {
    const trades: Trade[] = [];
    const retracted = new Set<string>();
    for (const trade of surviving(this.#history, this.#topic, retracted)) {
      if (trade.seq > seq) continue;
      if (trades.length >= limit) break;
      trades.push({ json: Buffer.from(trade.stored.json), event: trade.event as TradeEvent });
    }
    return { trades, retracted };
  }
}

/** Of `stored` (newest first) those older than all of `held` (newest first). */
function olderThan(stored: readonly Trade[], held: readonly Trade[]): Trade[] {
  const ids = new Set(held.map(({ event }) => event.id));
  const lastCommon = stored.findLastIndex(({ event }) => ids.has(event.id));
  if (lastCommon !== -1) return stored.slice(lastCommon + 1);
  const oldest = held.at(-1);
  return oldest === undefined ? [...stored] : stored.filter(({ event }) => event.ts.published < oldest.event.ts.published);
}
