import { busLimits, type LogEntry } from '@sluice/shared/bus/bus.ts';

/** Bytes of an event in which its id and its slot stand. */
const headBytes = 640;
const idForm = /"id":"([1-9A-HJ-NP-Za-km-z]{64,88}):/;
const slotForm = /"slot":([0-9]+)/;

/** Signature of the transaction that an entry's event is of; null for what is of none. What takes an event back tells nothing. */
export function signatureOf(entry: LogEntry): string | null {
  const head = headOf(entry);
  return head.startsWith('{"type":"retract"') ? null : (idForm.exec(head)?.[1] ?? null);
}

/** The first slot of which a tail of the log has all: 0 where it is the whole log. */
export function toldSince(tail: readonly LogEntry[]): number {
  if (tail.length < busLimits.maxTailEntries) return 0;
  let newest = 0;
  for (const entry of tail.slice(0, 64)) newest = Math.max(newest, Number(slotForm.exec(headOf(entry))?.[1] ?? 0));
  return newest + 1;
}

function headOf({ json }: LogEntry): string {
  return Buffer.from(json.buffer, json.byteOffset, Math.min(json.byteLength, headBytes)).toString('latin1');
}
