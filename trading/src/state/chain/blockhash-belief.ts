import { isAddress } from '@sluice/shared/solana/encoding/base58.ts';
import { contextAndValue, isRecord, isSlot } from '@sluice/shared/solana/encoding/json-forms.ts';

/** Number of blocks for which a blockhash is valid. */
export const blockhashLifetime = 150;
/** Slots by which honest endpoints may seem to disagree, because they answer at different moments of a fork. */
const slackSlots = 2;

/** A blockhash as one endpoint reported it. */
export interface ReportedBlockhash {
  readonly blockhash: string;
  readonly lastValidBlockHeight: number;
  readonly slot: number;
  /** When it was requested (`performance.now`). */
  readonly askedAtMs: number;
}

/** Reads an answer to `getLatestBlockhash`. Null if it is not of the documented form or cannot be true. */
export function readBlockhash(answer: unknown, newestSlot: number, askedAtMs: number): ReportedBlockhash | null {
  const read = contextAndValue(answer);
  if (read === null || !isRecord(read.value) || read.slot > newestSlot) return null;
  const { blockhash, lastValidBlockHeight } = read.value;
  if (typeof blockhash !== 'string' || !isAddress(blockhash) || !isSlot(lastValidBlockHeight)) return null;
  // No chain has more blocks than slots.
  if (lastValidBlockHeight > read.slot + blockhashLifetime || lastValidBlockHeight < blockhashLifetime) return null;
  return { blockhash, lastValidBlockHeight, slot: read.slot, askedAtMs };
}

/** Whether both can belong to one chain: there are no more blocks than slots between them, and the height grows with the slot. */
export function agree(a: ReportedBlockhash, b: ReportedBlockhash): boolean {
  const [older, newer] = a.slot <= b.slot ? [a, b] : [b, a];
  const slots = newer.slot - older.slot;
  const blocks = newer.lastValidBlockHeight - older.lastValidBlockHeight;
  return blocks >= -slackSlots && blocks <= slots + slackSlots && (slots <= slackSlots || blocks > 0);
}
