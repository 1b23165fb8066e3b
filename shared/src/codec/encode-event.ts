import { parseJson } from './bytes.ts';
import { PriceEvent, TradeEvent, type StreamEvent } from '../wire/events/events.ts';
import { compileWriters } from './compile-writers.ts';
import { bytesOf, type EncodedEvent } from './encoded-event.ts';
import { packValue } from './msgpack.ts';

/** The most frequent events have writers of their own. */
const writers = compileWriters({ trade: TradeEvent, price: PriceEvent }, [
  ['mint', 'simulated'],
  ['priceQuote', 'marketCapUsd'],
  ['reserves', 'depth'],
]);

/** Encodes an event once for all its readers. The event must match its schema, and its numbers must be finite. */
export function encodeEvent(event: StreamEvent): EncodedEvent {
  if (event.type === 'trade') return writers.trade(event);
  if (event.type === 'price') return writers.price(event);
  return { json: Buffer.from(JSON.stringify(event)), msgpack: bytesOf(packValue(event)) };
}

/** The MessagePack of an event from its JSON: the same bytes that `encodeEvent` makes of the event. */
export function msgpackOf(json: Uint8Array): Uint8Array {
  return encodeEvent(parseJson(json) as StreamEvent).msgpack;
}
