import type { StreamEvent, TradeEvent } from '../wire/events/events.ts';
import { parseJson } from './bytes.ts';
import { beginReading, readCompact } from './compact.ts';
import { digest, tickEnding, tickFrom, writers } from './encode-event.ts';
import { bytesOf } from './encoded-event.ts';
import { packValue } from './msgpack.ts';

const brace = 0x7b;
const headBytes = 3;

/** What was read last: the two views of a record are read one after the other. */
let lastRecord: Uint8Array | null = null;
let lastTrade: TradeEvent | null = null;
let lastDifference: object = {};

/**
 * One view of a record: an event in all its forms, each made on first use and only once. Others may have changed the log, so every form throws if the
 * record cannot be read.
 */
export class EventView {
  readonly record: Uint8Array;
  /** 0, or 1 for the tick in the record of a trade. */
  readonly view: number;
  #event: StreamEvent | null = null;
  #json: Uint8Array | null = null;
  #msgpack: Uint8Array | null = null;

  constructor(record: Uint8Array, view = 0) {
    this.record = record;
    this.view = view;
  }

  /** Not in the compact form. */
  get isJson(): boolean {
    return this.record[0] === brace;
  }

  get event(): StreamEvent {
    return (this.#event ??= this.#read());
  }

  /** Null if the record cannot be read. */
  get eventOrNull(): StreamEvent | null {
    try {
      return this.event;
    } catch (error) {
      if (error instanceof SyntaxError || error instanceof TypeError || error instanceof RangeError) return null;
      throw error;
    }
  }

  /** UTF-8 JSON. */
  get json(): Uint8Array {
    return (this.#json ??= this.isJson ? this.record : this.#write('json'));
  }

  /** MessagePack: maps; integers as integers, up to 2^53; other numbers as float64. */
  get msgpack(): Uint8Array {
    return (this.#msgpack ??= this.#write('msgpack'));
  }

  #write(form: 'json' | 'msgpack'): Uint8Array {
    const { event, record } = this;
    const isOwn = record[1] === digest.charCodeAt(0) && record[2] === digest.charCodeAt(1);
    if (isOwn && (event.type === 'trade' || event.type === 'price')) return bytesOf(writers[event.type][form](event));
    return form === 'json' ? Buffer.from(JSON.stringify(event)) : bytesOf(packValue(event));
  }

  #read(): StreamEvent {
    const event = this.isJson ? parseJson(this.record) : readView(this.record, this.view);
    if (typeof (event as StreamEvent | null)?.type !== 'string') throw new TypeError('An entry of the bus is not an event.');
    return event as StreamEvent;
  }
}

function readView(record: Uint8Array, view: number): unknown {
  const form = record[0];
  if (form !== 1 && form !== 2) return null;
  if (lastRecord !== record || lastTrade === null) {
    lastTrade = null;
    beginReading(record, headBytes);
    const event = readCompact();
    if (form === 1) return event;
    lastDifference = readCompact() as object;
    lastTrade = event as TradeEvent;
    lastRecord = record;
  }
  return view === 0 ? lastTrade : tickFrom('price', lastTrade.id + tickEnding, lastTrade, lastDifference);
}
