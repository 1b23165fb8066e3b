import { isAddress } from '@sluice/shared/solana/base58.ts';
import { contextAndValue, isRecord, isSlot } from '@sluice/shared/solana/json-forms.ts';

/** Blocks from a blockhash's own to the last that may carry it. */
export const blockhashLifetime = 150;
/** Slots by which endpoints that tell the truth may seem to disagree: they answer at different moments of a fork. */
const slackSlots = 2;

/** A blockhash as one endpoint told it. */
export interface ToldBlockhash {
  readonly blockhash: string;
  readonly lastValidBlockHeight: number;
  readonly slot: number;
  /** Unix milliseconds when it was asked for. */
  readonly askedAtMs: number;
}

/** Reads an answer to `getLatestBlockhash`; null where it is not of the documented form or cannot be true. */
export function readBlockhash(answer: unknown, newestSlot: number, askedAtMs: number): ToldBlockhash | null {
  const read = contextAndValue(answer);
  if (read === null || !isRecord(read.value) || read.slot > newestSlot) return null;
  const { blockhash, lastValidBlockHeight } = read.value;
  if (typeof blockhash !== 'string' || !isAddress(blockhash) || !isSlot(lastValidBlockHeight)) return null;
  // No chain has more blocks than slots.
  if (lastValidBlockHeight > read.slot + blockhashLifetime || lastValidBlockHeight < blockhashLifetime) return null;
  return { blockhash, lastValidBlockHeight, slot: read.slot, askedAtMs };
}

/** Whether both can be of one chain: no more blocks than slots lie between them, and height grows with the slot. */
export function agree(a: ToldBlockhash, b: ToldBlockhash): boolean {
  const [older, newer] = a.slot <= b.slot ? [a, b] : [b, a];
  const slots = newer.slot - older.slot;
  const blocks = newer.lastValidBlockHeight - older.lastValidBlockHeight;
  return blocks >= -slackSlots && blocks <= slots + slackSlots && (slots <= slackSlots || blocks > 0);
}
