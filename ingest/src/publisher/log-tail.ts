import type { LogEntry } from '@sluice/shared/bus/bus.ts';
import { readVerdict, type SlotVerdict } from '@sluice/shared/market/slot-verdict.ts';

/** Bytes of an event in which its id, its slot and its commitment stand. */
const headBytes = 640;
/** Ours: candles are no slot's, orders are the gateways'. */
const headForm = /^\{"type":"(trade|price|newToken|tokenMetadata|migration|retract)","id":"([^"\\]+)"/;
const slotForm = /"slot":([0-9]+)/;
const processed = '"commitment":"processed"';

/** What an entry of the log says of an event, or of slots. */
export type Said =
  | { readonly kind: 'told'; readonly id: string; readonly slot: number; readonly processed: boolean; readonly topics: readonly string[] }
  | { readonly kind: 'retracted'; readonly id: string }
  | { readonly kind: 'slots'; readonly verdict: SlotVerdict };

/** Null for what others than this stream's publishers say. */
export function readSaid(entry: LogEntry): Said | null {
  const verdict = readVerdict(entry);
  if (verdict !== null) return { kind: 'slots', verdict };
  const { json } = entry;
  const head = Buffer.from(json.buffer, json.byteOffset, Math.min(json.byteLength, headBytes)).toString('latin1');
  const found = headForm.exec(head);
  if (found === null) return null;
  const [, type, id] = found;
  if (type === 'retract') return { kind: 'retracted', id: id! };
  const slot = Number(slotForm.exec(head)?.[1] ?? 0);
  return { kind: 'told', id: id!, slot, processed: head.includes(processed), topics: entry.topics.map(({ topic }) => topic) };
}
