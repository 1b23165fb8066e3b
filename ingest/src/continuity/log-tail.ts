import { busLimits, type LogEntry } from '@sluice/shared/bus/bus.ts';
import type { RetractEvent } from '@sluice/shared/wire/events.ts';
import type { PublishableEvent } from '../publisher/publisher.ts';

/** Bytes of an event in which its id and its slot stand. */
const headBytes = 640;
/** Candles are of many trades, and no slot's. */
const candleHead = '{"type":"candle"';
const idForm = /"id":"([1-9A-HJ-NP-Za-km-z]{64,88}):/;
const slotForm = /"slot":([0-9]+)/;

/** The transaction that an entry's event is of, and its slot; null for what is of none. What takes an event back tells nothing. */
export function sightOf(entry: LogEntry): { readonly signature: string; readonly slot: number } | null {
  const head = headOf(entry);
  const signature = head.startsWith('{"type":"retract"') ? undefined : idForm.exec(head)?.[1];
  return signature === undefined ? null : { signature, slot: Number(slotForm.exec(head)?.[1] ?? 0) };
}

/** Events that the holder before has told at `processed` of slots above its watermark, and not taken back. */
export function undecidedIn(tail: readonly LogEntry[], watermark: number): PublishableEvent[] {
  const found = new Map<string, PublishableEvent>();
  for (const entry of tail) {
    const head = headOf(entry);
    if (head.startsWith('{"type":"retract"')) found.delete((JSON.parse(textOf(entry)) as RetractEvent).id);
    else if (
      head.includes('"commitment":"processed"') &&
      Number(slotForm.exec(head)?.[1] ?? 0) > watermark &&
      !head.startsWith(candleHead)
    ) {
      const event = JSON.parse(textOf(entry)) as PublishableEvent;
      found.set(event.id, event);
    }
  }
  return [...found.values()];
}

/** The first slot of which a tail of the log has all: 0 where it is the whole log. */
export function toldSince(tail: readonly LogEntry[]): number {
  if (tail.length < busLimits.maxTailEntries) return 0;
  let newest = 0;
  for (const entry of tail.slice(0, 64)) newest = Math.max(newest, Number(slotForm.exec(headOf(entry))?.[1] ?? 0));
  return newest + 1;
}

function textOf({ json }: LogEntry): string {
  return Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString('utf8');
}

function headOf({ json }: LogEntry): string {
  return Buffer.from(json.buffer, json.byteOffset, Math.min(json.byteLength, headBytes)).toString('latin1');
}
