import { discriminatorLength, hasPrefix } from '@sluice/shared/solana/encoding/bytes.ts';
import type { EmittingInstruction } from '../seam/venue.ts';

/** First bytes of the data of a self-CPI event. */
const eventTag = Uint8Array.from(Buffer.from('e445a52e51cb9a1d', 'hex'));

/** Whether the same instruction also sent an event with this discriminator by self-CPI. Two events of one swap show the same trade. */
export function sendsEvent({ programId, inner, at }: EmittingInstruction, discriminator: Uint8Array): boolean {
  const height = inner[at]?.stackHeight ?? null;
  for (let index = at + 1; index < inner.length; index++) {
    const { stackHeight, programId: called, data } = inner[index]!;
    // The next instruction on the same level ends the one that emitted.
    if (height !== null && stackHeight !== null && stackHeight <= height) return false;
    if (called === programId && hasPrefix(data, eventTag) && hasPrefix(data.subarray(discriminatorLength), discriminator)) return true;
  }
  return false;
}
