import type { LogPosition } from '../../bus/bus.ts';
import { bufferOf } from '../../codec/bytes.ts';
import type { MintHead } from '../pools/main-pool.ts';
import type { BaseInterval } from '../market.ts';

/**
 * How long buckets are stored. `chunkS` seconds of them share one chunk, which is stored until `retentionS` (and its own length) after its last
 * bucket began. A mint that trades all the time therefore has at most 4,800 buckets of a second, 3,600 of a minute and 2,640 of an hour.
 */
export const bucketRetention = {
  '1s': { chunkS: 600, retentionS: 3_600 },
  '1m': { chunkS: 6 * 3_600, retentionS: 48 * 3_600 },
  '1h': { chunkS: 10 * 86_400, retentionS: 90 * 86_400 },
} as const satisfies Readonly<Record<BaseInterval, { readonly chunkS: number; readonly retentionS: number }>>;

/** If all trades of a mint were within this time after its first one, its hours are stored only for `briefRetentionS`. */
const briefLifeS = 86_400;
/** A week. This applies to most mints. */
const briefRetentionS = 7 * 86_400;
/** Seconds for which the newest price event of a mint is stored. */
export const priceRetentionS = 24 * 3_600;
/** Seconds for which the newest trades of a mint are stored after the last one. */
export const tradesRetentionS = 2 * 3_600;

/** Seconds for which a chunk is stored after its last bucket began. */
export function chunkRetentionS(interval: BaseInterval, { firstS, tradedS }: MintHead): number {
  if (interval === '1h' && tradedS - firstS < briefLifeS) return briefRetentionS;
  return bucketRetention[interval].retentionS + bucketRetention[interval].chunkS;
}

/** Seconds for which the head of a mint is stored: as long as its hours. */
export function headRetentionS(head: MintHead): number {
  return chunkRetentionS('1h', head);
}

export function isSameCheckpoint(a: LogPosition | null, b: LogPosition | null): boolean {
  return a === null || b === null ? a === b : a.epoch === b.epoch && a.offset === b.offset;
}

/** Of trades (newest first), at most `limit` that are older than the one with the id `before`. Empty if that one is not stored. */
export function olderTrades(newestFirst: readonly Uint8Array[], before: string | null, limit: number): readonly Uint8Array[] {
  let from = 0;
  if (before !== null) {
    from = newestFirst.findIndex((json) => hasId(json, before)) + 1;
    if (from === 0) return [];
  }
  return newestFirst.slice(from, from + Math.max(0, limit));
}

/** Whether a published event has this id. */
export function hasId(json: Uint8Array, id: string): boolean {
  return bufferOf(json).includes(`"id":${JSON.stringify(id)},`);
}
