import { PriceEvent, TradeEvent, type StreamEvent } from '../wire/events/events.ts';
import { beginCompact } from './compact.ts';
import { compileDifference, compileMerge, compileWriters } from './compile-writers.ts';
import { bytesOf } from './encoded-event.ts';

/**
 * The record of an event in the log. Its first byte says which form it has:
 *
 *     {   JSON
 *     1   a trade or a price
 *     2   a trade, then the fields of its price tick that differ from it: a record with two views
 *
 * After 1 and 2 comes a digest of the schemas (u16), then the compact form. Frequent events have writers of their own.
 */
const single = '\x01';
const double = '\x02';

export const writers = { trade: compileWriters(TradeEvent), price: compileWriters(PriceEvent) };
export const digest = digestOf(JSON.stringify([TradeEvent, PriceEvent]));
const derived = ['type', 'id'];
const tickOf = compileDifference(PriceEvent, TradeEvent, derived);
export const tickFrom = compileMerge(PriceEvent, TradeEvent, derived);
export const tickEnding = '.price';

function digestOf(text: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return String.fromCharCode((hash >>> 8) & 0xff, hash & 0xff);
}

/** The record of an event. The event must match its schema, and its numbers must be finite. */
export function encodeEvent(event: StreamEvent): Uint8Array {
  if (event.type !== 'trade' && event.type !== 'price') return Buffer.from(JSON.stringify(event));
  return bytesOf(single + digest + beginCompact() + writers[event.type].compact(event));
}

/** The record of a trade and of the price tick that was derived from it. Null if the tick cannot be read from the trade. */
export function encodeTrade(trade: TradeEvent, price: PriceEvent): Uint8Array | null {
  if (price.id !== trade.id + tickEnding) return null;
  const text = double + digest + beginCompact() + writers.trade.compact(trade);
  const tick = tickOf(price, trade);
  return tick === null ? null : bytesOf(text + tick);
}
