import type { LogEntry } from '@sluice/shared/bus/bus.ts';
import { readVerdict, type SlotVerdict } from '@sluice/shared/market/verdicts/slot-verdict.ts';
import type { StreamEvent } from '@sluice/shared/wire/events/events.ts';

/** Events of ingest that belong to a slot. Candles belong to none, and gateways publish orders. */
const typesOfSlots: ReadonlySet<string> = new Set([
  'trade',
  'price',
  'newToken',
  'tokenMetadata',
  'migration',
  'poolCreated',
  'liquidityAdded',
  'liquidityRemoved',
  'programEvent',
  'programInstruction',
  'programAccount',
] satisfies StreamEvent['type'][]);

/** What an entry of the log says about an event, or about slots. */
export type LogRecord =
  | {
      readonly kind: 'published';
      readonly id: string;
      readonly slot: number;
      readonly processed: boolean;
      readonly topics: readonly string[];
    }
  | { readonly kind: 'retracted'; readonly id: string }
  | { readonly kind: 'slots'; readonly verdict: SlotVerdict };

/** Null for entries that are not of ingest's publisher. */
export function readRecord(entry: LogEntry): LogRecord | null {
  const verdict = readVerdict(entry);
  if (verdict !== null) return { kind: 'slots', verdict };
  const event = entry.eventOrNull;
  if (event?.type === 'retract') return { kind: 'retracted', id: event.id };
  if (event === null || event.type === 'order' || event.type === 'trigger' || event.type === 'position') return null;
  if (event.type === 'candle' || !typesOfSlots.has(event.type)) return null;
  const { id, slot, commitment } = event;
  return { kind: 'published', id, slot, processed: commitment === 'processed', topics: entry.topics.map(({ topic }) => topic) };
}
