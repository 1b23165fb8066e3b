import { busLimits, LogEntry, type BusEntry, type TopicSeq } from './bus.ts';
import { epochLength } from './epoch.ts';

/**
 * The binary format of entries in the log and in announcements. One message has a batch of entries, so a busy publisher needs one script
 * call, one stream entry and one announcement for up to `maxBatchEntries` views. A quiet one sends batches of one. Numbers are big-endian.
 *
 *     u8   version
 *     12   epoch in which it was written, ASCII
 *     u48  offset of the first view
 *     u16  views    u16 topics    u32 bytes of the dictionary       (`counts`)
 *     u48  x topics: the topic's seq before this message            (written by the script, like everything before `counts`)
 *     dictionary, for each topic: u16 views with the topic, u8 bytes of its name, name in UTF-8
 *     entries, for each: u8 views (1 or 2); for each view: u8 topics, u16 x topics: index in the dictionary; u32 bytes of the record, record
 *
 * The publisher encodes `counts`, dictionary and entries. Only the script in Redis knows epoch, offset and seqs. It writes them before the
 * rest, without reading the events.
 *
 * Messages of version 2 are read too, so that gateways can be upgraded before ingest. Their entries have one view, and the bytes of its JSON and of
 * its MessagePack in place of a record. Only the JSON is used. Private events cannot be read, because their seal is in another place.
 */
export const formatVersion = 3;
export const olderVersion = 2;

/** Measured: larger batches are not faster, because they exceed the caches on both sides and wait longer. */
export const maxBatchEntries = 64;
export const maxBatchBytes = 256 * 1024;

const countsAt = 1 + epochLength + 6;
const basesAt = countsAt + 8;
const seqBytes = 6;

/** Free bytes before the body of a batch, for the head of the Redis command. */
const roomBefore = 2048;
const roomAfter = 2;

interface DictionaryTopic {
  readonly name: string;
  readonly bytes: number;
  count: number;
}

/** Encodes batches in the form that the script reads, into one buffer that is reused, so only one batch may be in use at a time. */
export class BatchEncoder {
  readonly counts = Buffer.allocUnsafeSlow(8);
  #room = Buffer.allocUnsafeSlow(64 * 1024);
  #body = this.#room;
  readonly #places = new Map<string, number>();
  #topics: DictionaryTopic[] = [];

  /** Dictionary and entries. */
  get body(): Buffer {
    return this.#body;
  }

  encode(entries: readonly BusEntry[]): this {
    const { dictionaryBytes, totalBytes } = this.#measure(entries);
    const roomBytes = roomBefore + totalBytes + roomAfter;
    if (this.#room.length < roomBytes) this.#room = Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(roomBytes)));
    this.#body = this.#room.subarray(roomBefore, roomBefore + totalBytes);
    this.counts.writeUInt16BE(
      entries.reduce((views, entry) => views + viewsOf(entry), 0),
      0,
    );
    this.counts.writeUInt16BE(this.#topics.length, 2);
    this.counts.writeUInt32BE(dictionaryBytes, 4);
    this.#writeDictionary();
    this.#writeEntries(entries, dictionaryBytes);
    this.#places.clear();
    this.#topics = [];
    return this;
  }

  /** The body between `before` and `after`, in one piece and without copying the body. Null if there is no room for them. */
  frame(before: Buffer, after: Buffer): Buffer | null {
    if (before.length > roomBefore || after.length > roomAfter) return null;
    const start = roomBefore - before.length;
    const end = roomBefore + this.#body.length;
    this.#room.set(before, start);
    this.#room.set(after, end);
    return this.#room.subarray(start, end + after.length);
  }

  #measure(entries: readonly BusEntry[]): { readonly dictionaryBytes: number; readonly totalBytes: number } {
    let dictionaryBytes = 0;
    let entryBytes = 0;
    for (const { topics, tickTopics = [], record } of entries) {
      entryBytes += 6 + (topics.length + tickTopics.length) * 2 + record.length + (tickTopics.length > 0 ? 1 : 0);
      for (const name of topics) dictionaryBytes += this.#count(name);
      for (const name of tickTopics) dictionaryBytes += this.#count(name);
    }
    return { dictionaryBytes, totalBytes: dictionaryBytes + entryBytes };
  }

  /** Bytes that the topic needs in the dictionary. */
  #count(name: string): number {
    const place = this.#places.get(name);
    if (place !== undefined) {
      (this.#topics[place] as DictionaryTopic).count += 1;
      return 0;
    }
    const bytes = Buffer.byteLength(name);
    this.#places.set(name, this.#topics.length);
    this.#topics.push({ name, bytes, count: 1 });
    return 3 + bytes;
  }

  #writeDictionary(): void {
    const body = this.#body;
    let at = 0;
    for (const { name, bytes, count } of this.#topics) {
      body.writeUInt16BE(count, at);
      body[at + 2] = bytes;
      body.write(name, at + 3, bytes, 'utf8');
      at += 3 + bytes;
    }
  }

  #writeEntries(entries: readonly BusEntry[], start: number): void {
    const body = this.#body;
    let at = start;
    for (const { topics, tickTopics, record } of entries) {
      body[at] = tickTopics === undefined ? 1 : 2;
      at = this.#writeTopics(topics, at + 1);
      if (tickTopics !== undefined) at = this.#writeTopics(tickTopics, at);
      at = body.writeUInt32BE(record.length, at);
      body.set(record, at);
      at += record.length;
    }
  }

  #writeTopics(topics: readonly string[], at: number): number {
    this.#body[at] = topics.length;
    at += 1;
    for (const name of topics) at = this.#body.writeUInt16BE(this.#places.get(name) as number, at);
    return at;
  }
}

/** Views of an entry: so many offsets does it take. */
export function viewsOf({ tickTopics }: BusEntry): number {
  return tickTopics === undefined ? 1 : 2;
}

/** The head of a message: its place in the log, and the seqs of its topics. */
export interface MessageHead {
  readonly epoch: string;
  readonly first: number;
  readonly last: number;
  /** By index in the dictionary: name, seq before this message, and number of its entries with the topic. */
  readonly names: readonly string[];
  readonly bases: readonly number[];
  readonly counts: readonly number[];
  /** Offset of the first entry in the message. */
  readonly entriesAt: number;
}

export interface LogMessage {
  readonly epoch: string;
  readonly first: number;
  readonly last: number;
  readonly bytes: number;
  readonly entries: readonly LogEntry[];
  readonly head: MessageHead;
}

/** Decodes the head of a message. The entries after it may be missing. Null if it is malformed. Never throws. */
export function decodeHead(bytes: Buffer): MessageHead | null {
  if (bytes.length < basesAt || (bytes[0] !== formatVersion && bytes[0] !== olderVersion)) return null;
  const first = readUint48(bytes, 1 + epochLength);
  const entryCount = bytes.readUInt16BE(countsAt);
  const topicCount = bytes.readUInt16BE(countsAt + 2);
  const dictionaryAt = basesAt + topicCount * seqBytes;
  const entriesAt = dictionaryAt + bytes.readUInt32BE(countsAt + 4);
  if (first === 0 || entryCount === 0 || topicCount === 0 || bytes.length < entriesAt) return null;
  const names: string[] = [];
  const bases: number[] = [];
  const counts: number[] = [];
  let at = dictionaryAt;
  for (let place = 0; place < topicCount; place += 1) {
    if (at + 3 > entriesAt) return null;
    const nameAt = at + 3;
    const end = nameAt + (bytes[at + 2] as number);
    if (end > entriesAt || end === nameAt) return null;
    counts.push(((bytes[at] as number) << 8) | (bytes[at + 1] as number));
    names.push(bytes.toString('utf8', nameAt, end));
    bases.push(readUint48(bytes, basesAt + place * seqBytes));
    at = end;
  }
  if (at !== entriesAt) return null;
  const epoch = bytes.toString('latin1', 1, 1 + epochLength);
  return { epoch, first, last: first + entryCount - 1, names, bases, counts, entriesAt };
}

/** Decodes a whole message; the records are views of `bytes`. Null if it is malformed, incomplete or inconsistent. Never throws. */
export function decodeMessage(bytes: Buffer): LogMessage | null {
  const head = decodeHead(bytes);
  if (head === null) return null;
  const { epoch, first, last, names, bases, counts } = head;
  const isOlder = bytes[0] === olderVersion;
  const seqs = [...bases];
  const entries: LogEntry[] = [];
  let at = head.entriesAt;
  for (let offset = first; offset <= last;) {
    const views = isOlder ? 1 : bytes[at++];
    if (views !== 1 && views !== 2) return null;
    const topicsOfViews: TopicSeq[][] = [];
    for (let view = 0; view < views; view += 1) {
      const topics = readTopics(bytes, at, names, seqs);
      if (topics === null) return null;
      topicsOfViews.push(topics);
      at += 1 + topics.length * 2;
    }
    const lengths = isOlder ? 8 : 4;
    if (at + lengths > bytes.length) return null;
    const recordAt = at + lengths;
    const end = recordAt + bytes.readUInt32BE(at);
    at = isOlder ? end + bytes.readUInt32BE(at + 4) : end;
    if (at > bytes.length) return null;
    const record = bytes.subarray(recordAt, end);
    for (const [view, topics] of topicsOfViews.entries()) entries.push(new LogEntry(offset++, topics, record, view));
  }
  if (at !== bytes.length || entries.length !== last + 1 - first) return null;
  for (let place = 0; place < seqs.length; place += 1) {
    if (seqs[place] !== (bases[place] as number) + (counts[place] as number)) return null;
  }
  return { epoch, first, last, bytes: bytes.length, entries, head };
}

/** The topics of one view, which get their next seqs. Null if they are malformed. */
function readTopics(bytes: Buffer, at: number, names: readonly string[], seqs: number[]): TopicSeq[] | null {
  const count = bytes[at] ?? 0;
  if (count === 0 || count > busLimits.maxTopicsPerEntry || at + 1 + count * 2 > bytes.length) return null;
  const topics: TopicSeq[] = [];
  for (let next = at + 1; topics.length < count; next += 2) {
    const place = ((bytes[next] as number) << 8) | (bytes[next + 1] as number);
    if (place >= names.length) return null;
    const seq = (seqs[place] as number) + 1;
    seqs[place] = seq;
    topics.push({ topic: names[place] as string, seq });
  }
  return topics;
}

function readUint48(bytes: Buffer, at: number): number {
  return bytes.readUInt16BE(at) * 0x1_0000_0000 + bytes.readUInt32BE(at + 2);
}
