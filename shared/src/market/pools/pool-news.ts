import type { BusEntry, LogEntry } from '../../bus/bus.ts';
import { isRecord } from '../../solana/encoding/json-forms.ts';
import { jsonOrNull } from '../../codec/bytes.ts';
import { readKnownPool, type PoolSighting } from './pool-directory.ts';

/**
 * The entry that ingest writes into the log when it sees that a pool was opened, or reads from the chain which pool is the main one of a mint.
 * With it, the followers know the pool before its first trade. It is only a hint, like the directory: it is never retracted, and may be repeated.
 * It is not an event, and is not sent to clients.
 */
export interface PoolNews extends PoolSighting {
  /** Present if the chain was read: this is the main pool of the mint. */
  readonly main?: {
    /** Unix seconds of the trade for which ingest read the chain. */
    readonly atS: number;
    readonly priceQuote: number | null;
    readonly priceUsd: number | null;
    readonly curveOver: boolean;
    readonly simulated: boolean;
  };
}

const newsTopic = '~pools';

export function poolNewsEntry({ mint, venue, address, quoteMint, depthSol, slot, main }: PoolNews): BusEntry {
  return {
    topics: [newsTopic],
    record: Buffer.from(JSON.stringify({ type: 'pool', mint, venue, address, quoteMint, depthSol, slot, main })),
  };
}

export function isPoolNews({ topics }: Pick<LogEntry, 'topics'>): boolean {
  return topics[0]?.topic === newsTopic;
}

/** Null if the entry is not such a pool: the bus carries any bytes, not only those that ingest publishes. */
export function readPoolNews(entry: Pick<LogEntry, 'topics' | 'record'>): PoolNews | null {
  const value = isPoolNews(entry) ? jsonOrNull(entry.record) : null;
  const pool = readKnownPool(value);
  if (pool === null || !isRecord(value) || typeof value['mint'] !== 'string') return null;
  const main = mainOf(value['main']);
  return { mint: value['mint'], ...pool, ...(main === null ? {} : { main }) };
}

function mainOf(value: unknown): NonNullable<PoolNews['main']> | null {
  if (!isRecord(value) || typeof value['atS'] !== 'number') return null;
  const { atS, priceQuote, priceUsd, curveOver, simulated } = value;
  const priceOf = (price: unknown): number | null => (typeof price === 'number' ? price : null);
  const flags = { curveOver: curveOver === true, simulated: simulated === true };
  return { atS, priceQuote: priceOf(priceQuote), priceUsd: priceOf(priceUsd), ...flags };
}
