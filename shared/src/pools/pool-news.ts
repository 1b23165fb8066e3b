import type { BusEntry, LogEntry } from '../bus/bus.ts';
import { isRecord } from '../solana/json-forms.ts';
import { venueNames } from '../venues/names.ts';
import type { PoolSighting } from './pool-directory.ts';

/**
 * The entry that ingest writes into the log when it sees that a pool was opened. With it, the keeper of the directory knows the pool before its first
 * trade. It is only a hint, like the directory: it is never retracted, and may be repeated. It is not an event, and is not sent to clients.
 */
const newsTopic = '~pools';

export function poolNewsEntry({ mint, venue, address, quoteMint, depthSol, slot }: PoolSighting): BusEntry {
  const bytes = Buffer.from(JSON.stringify({ type: 'pool', mint, venue, address, quoteMint, depthSol, slot }));
  return { topics: [newsTopic], json: bytes, msgpack: bytes };
}

export function isPoolNews({ topics }: Pick<LogEntry, 'topics'>): boolean {
  return topics[0]?.topic === newsTopic;
}

/** Null if the entry is not such a pool. */
export function readPoolNews(entry: Pick<LogEntry, 'topics' | 'json'>): PoolSighting | null {
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
  return isRecord(value) ? sightingOf(value) : null;
}

function sightingOf({ mint, venue: name, address, quoteMint, depthSol, slot }: Readonly<Record<string, unknown>>): PoolSighting | null {
  const venue = venueNames.find((one) => one === name);
  if (venue === undefined || typeof mint !== 'string' || typeof address !== 'string' || typeof quoteMint !== 'string') return null;
  return typeof depthSol === 'number' && typeof slot === 'number' ? { mint, venue, address, quoteMint, depthSol, slot } : null;
}
