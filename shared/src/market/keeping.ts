import type { MintHead } from './head.ts';
import type { BaseInterval, Checkpoint } from './market.ts';

/**
 * How buckets are kept: `chunkS` seconds of them together, for `keepS` (and a chunk's own time) after the last bucket in it
 * began. So there are at most 4,800 buckets of a second, 3,600 of a minute and 2,640 of an hour for a mint that trades all
 * the time.
 */
export const bucketKeeping = {
  '1s': { chunkS: 600, keepS: 3_600 },
  '1m': { chunkS: 6 * 3_600, keepS: 48 * 3_600 },
  '1h': { chunkS: 10 * 86_400, keepS: 90 * 86_400 },
} as const satisfies Readonly<Record<BaseInterval, { readonly chunkS: number; readonly keepS: number }>>;

/** Hours of a mint that traded for less than this after its first trade … */
const briefLifeS = 86_400;
/** … are kept for a week only: most mints are such. */
const briefKeepS = 7 * 86_400;
/** How long the newest price and the newest trades of a mint are kept after the last of them. */
export const priceKeepS = 24 * 3_600;
export const tradesKeepS = 2 * 3_600;

/** Seconds for which a chunk is kept after the last bucket in it began. */
export function chunkKeepS(interval: BaseInterval, { firstS, tradedS }: MintHead): number {
  if (interval === '1h' && tradedS - firstS < briefLifeS) return briefKeepS;
  return bucketKeeping[interval].keepS + bucketKeeping[interval].chunkS;
}

/** Seconds for which the head of a mint is kept: as long as its hours. */
export function headKeepS(head: MintHead): number {
  return chunkKeepS('1h', head);
}

export function isSameCheckpoint(a: Checkpoint | null, b: Checkpoint | null): boolean {
  return a === null || b === null ? a === b : a.epoch === b.epoch && a.offset === b.offset;
}

/** Of trades (newest first) those older than the one with the id `before`, at most `limit`; none where that one is not kept. */
export function olderTrades(newestFirst: readonly Uint8Array[], before: string | null, limit: number): readonly Uint8Array[] {
  let from = 0;
  if (before !== null) {
    from = newestFirst.findIndex((json) => hasId(json, before)) + 1;
    if (from === 0) return [];
  }
  return newestFirst.slice(from, from + Math.max(0, limit));
}

/** Whether an event, as published, is the one with this id. */
export function hasId(json: Uint8Array, id: string): boolean {
  return Buffer.from(json.buffer, json.byteOffset, json.byteLength).includes(`"id":${JSON.stringify(id)},`);
}
