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

export type Belief =
  /** `refused`: answers that contradict it, or go back behind what was held. */
  | { readonly kind: 'believed'; readonly told: ToldBlockhash; readonly refused: number }
  /** The answers contradict what was held, or each other where nothing says who is right. */
  | { readonly kind: 'contradicted' }
  | { readonly kind: 'silent' };

/**
 * Which of the endpoints' answers holds: one that is possible after what was held, and of these the newest that most others agree
 * with. Where nothing was held more than half must agree: of two that contradict each other neither is believed.
 */
export function believe(answers: readonly ToldBlockhash[], held: ToldBlockhash | null): Belief {
  if (answers.length === 0) return { kind: 'silent' };
  const possible = answers.filter((told) => held === null || (agree(told, held) && told.lastValidBlockHeight >= held.lastValidBlockHeight));
  const votes = possible.map((told) => possible.filter((other) => agree(told, other)).length);
  const most = Math.max(0, ...votes);
  if (most === 0 || (held === null && most * 2 <= answers.length)) return { kind: 'contradicted' };
  const agreed = possible.filter((_, i) => votes[i] === most);
  const told = agreed.reduce((best, one) => (one.slot > best.slot ? one : best));
  return { kind: 'believed', told, refused: answers.length - agreed.length };
}
