import type { MintHead } from './head.ts';
import type { BaseInterval, Checkpoint } from './market.ts';

/**
 * How long buckets are stored. `chunkS` seconds of them share one chunk, which is stored until `keepS` (and its own length) after its last
 * bucket began. A mint that trades all the time therefore has at most 4,800 buckets of a second, 3,600 of a minute and 2,640 of an hour.
 */
export const bucketKeeping = {
  '1s': { chunkS: 600, keepS: 3_600 },
  '1m': { chunkS: 6 * 3_600, keepS: 48 * 3_600 },
  '1h': { chunkS: 10 * 86_400, keepS: 90 * 86_400 },
} as const satisfies Readonly<Record<BaseInterval, { readonly chunkS: number; readonly keepS: number }>>;

/** If a mint's trades ended within this time of its first one … */
const briefLifeS = 86_400;
/** … its hours are stored for only a week. This applies to most mints. */
const briefKeepS = 7 * 86_400;
/** If a mint traded for less than this after its first event … */
export const priceKeepS = 24 * 3_600;
export const tradesKeepS = 2 * 3_600;

/** Seconds for which a chunk is stored after its last bucket began. */
export function chunkKeepS(interval: BaseInterval, { firstS, tradedS }: MintHead): number {
  if (interval === '1h' && tradedS - firstS < briefLifeS) return briefKeepS;
  return bucketKeeping[interval].keepS + bucketKeeping[interval].chunkS;
}

/** Seconds for which the head of a mint is stored: as long as its hours. */
export function headKeepS(head: MintHead): number {
  return chunkKeepS('1h', head);
}

export function isSameCheckpoint(a: Checkpoint | null, b: Checkpoint | null): boolean {
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
  return Buffer.from(json.buffer, json.byteOffset, json.byteLength).includes(`"id":${JSON.stringify(id)},`);
}
