import type { BusEntry, LogEntry } from '../../bus/bus.ts';
import { isRecord } from '../../solana/encoding/json-forms.ts';
import { venueNames } from '../../wire/venues.ts';
import type { PoolSighting } from './pool-directory.ts';

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
  const bytes = Buffer.from(JSON.stringify({ type: 'pool', mint, venue, address, quoteMint, depthSol, slot, main }));
  return { topics: [newsTopic], json: bytes, msgpack: bytes };
}

export function isPoolNews({ topics }: Pick<LogEntry, 'topics'>): boolean {
  return topics[0]?.topic === newsTopic;
}

/** Null if the entry is not such a pool. */
export function readPoolNews(entry: Pick<LogEntry, 'topics' | 'json'>): PoolNews | null {
  if (!isPoolNews(entry)) return null;
  const { json } = entry;
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString('utf8'));
  } catch (error) {
    // The bus carries any bytes, not only those that ingest publishes.
    if (error instanceof SyntaxError) return null;
    throw error;
  }
  return isRecord(value) ? newsOf(value) : null;
}

function newsOf({ mint, venue: name, address, quoteMint, depthSol, slot, main }: Readonly<Record<string, unknown>>): PoolNews | null {
  const venue = venueNames.find((one) => one === name);
  if (venue === undefined || typeof mint !== 'string' || typeof address !== 'string' || typeof quoteMint !== 'string') return null;
  if (typeof depthSol !== 'number' || typeof slot !== 'number') return null;
  const sighting = { mint, venue, address, quoteMint, depthSol, slot };
  const read = isRecord(main) ? mainOf(main) : null;
  return read === null ? sighting : { ...sighting, main: read };
}

function mainOf({
  atS,
  priceQuote,
  priceUsd,
  curveOver,
  simulated,
}: Readonly<Record<string, unknown>>): NonNullable<PoolNews['main']> | null {
  const priceOf = (value: unknown): number | null => (typeof value === 'number' ? value : null);
  if (typeof atS !== 'number') return null;
  const flags = { curveOver: curveOver === true, simulated: simulated === true };
  return { atS, priceQuote: priceOf(priceQuote), priceUsd: priceOf(priceUsd), ...flags };
}
