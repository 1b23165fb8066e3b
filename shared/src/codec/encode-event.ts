import type { StreamEvent } from '../wire/events.ts';
import { bytesOf, type EncodedEvent } from './encoded-event.ts';
import { encodePriceEvent, encodeTradeEvent } from './event-writers.ts';
import { packValue } from './msgpack.ts';

/**
 * Encodes an event once for all its readers. Trades and prices, the most frequent events, have generated writers. The event must
 * match its schema, and its numbers must be finite.
 */
export function encodeEvent(event: StreamEvent): EncodedEvent {
  if (event.type === 'trade') return encodeTradeEvent(event);
  if (event.type === 'price') return encodePriceEvent(event);
  return { json: Buffer.from(JSON.stringify(event)), msgpack: bytesOf(packValue(event)) };
}

/** The MessagePack of an event from its JSON: the same bytes that `encodeEvent` makes of the event. */
export function msgpackOf(json: Uint8Array): Uint8Array {
  const text = Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString('utf8');
  return encodeEvent(JSON.parse(text) as StreamEvent).msgpack;
}
