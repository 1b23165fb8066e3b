import { busLimits, type EpochPlace, type LogEntry, type LogPosition } from '../bus.ts';
import { epochEnding } from '../epoch.ts';
import { decodeHead, decodeMessage, formatVersion, type LogMessage, type MessageHead } from '../message.ts';
import type { RedisConnection } from './redis-connection.ts';
import { epochsOf, headsScript, logKeys, redisKeys, stateScript, type EpochEnd } from './redis-scripts.ts';

/** Intended bytes of one page, and the bounds of its messages. */
const pageBytes = 1024 * 1024;
const pageMessagesFirst = 16;
const pageMessagesMax = 512;
/** Heads that one call reads, and bytes of messages that it may read for them. Redis does nothing else meanwhile, for some ms. */
const headsPerCall = 256;
const headsBytesPerCall = 4 * 1024 * 1024;
/** Counters that one call reads. */
const countersPerCall = 2_000;

export interface LogState {
  /** The current epoch. */
  readonly epoch: string;
  readonly offset: number;
  /** All epochs of the log, oldest first. A message of any other epoch does not belong to this log. */
  readonly epochs: ReadonlyMap<string, EpochEnd>;
}

/** The part of an epoch that the log has while its last offset is `offset`; null if it has none. */
export function placeOf({ epochs, offset }: Pick<LogState, 'epochs' | 'offset'>, epoch: string): EpochPlace | null {
  const end = epochs.get(epoch);
  if (end === undefined) return null;
  const names = [...epochs.keys()];
  const isWhole = names.slice(names.indexOf(epoch)).every((name) => epochs.get(name)?.isWhole === true);
  return { end: end.end ?? offset, isWhole };
}

/** Reads the log in Redis. All methods reject if the connection fails; `state` also with `INCOMPATIBLE`. */
export class RedisHistory {
  readonly #connection: RedisConnection;
  readonly #onMalformed: () => void;
  #pageMessages = pageMessagesFirst;

  /** `onMalformed` is called for each message in an unknown form, which is left out. */
  constructor(connection: RedisConnection, onMalformed: () => void = () => {}) {
    this.#connection = connection;
    this.#onMalformed = onMalformed;
  }

  /** Reads the state of the log. The first read after a restart or failover of Redis begins a new epoch. If the log lacks the `known` position, its subscribers will report a loss. */
  async state(known: LogPosition | null): Promise<LogState> {
    const args = [formatVersion, epochEnding(), known?.epoch ?? '', known?.offset ?? 0];
    const [offset, text] = (await this.#connection.run(stateScript, logKeys, args)) as [number, Buffer];
    const epochs = epochsOf(text.toString('latin1'));
    return { epoch: [...epochs.keys()].at(-1) as string, offset, epochs };
  }

  /** The next messages that begin at offset `from` or later; empty if there are none. */
  async page(from: number): Promise<readonly LogMessage[]> {
    return (await this.#read('xrange', String(from), '+')).messages;
  }

  /** What `read` returns for the newest entries, at most `maxEntries`, oldest first. */
  async tail<T>(maxEntries: number, read: (entry: LogEntry) => T): Promise<readonly T[]> {
    const newestFirst: T[] = [];
    const { epochs } = await this.state(null);
    let before = '+';
    while (newestFirst.length < maxEntries) {
      const { messages, lastId } = await this.#read('xrevrange', before, '-');
      // Entries of an epoch that began in the meantime are newer than the call. If the log began again, there are no older ones.
      const own = messages.filter(({ epoch }) => epochs.has(epoch));
      if (lastId === null || (newestFirst.length > 0 && own.length < messages.length)) break;
      for (const { entries } of own) for (const entry of entries.toReversed()) newestFirst.push(read(entry));
      before = `(${lastId}`;
    }
    return newestFirst.slice(0, maxEntries).toReversed();
  }

  /** One page of messages, and the id of the last one in the log; null after the end of the log. */
  async #read(
    command: 'xrange' | 'xrevrange',
    from: string,
    to: string,
  ): Promise<{ readonly messages: readonly LogMessage[]; readonly lastId: string | null }> {
    const count = this.#pageMessages;
    const reply = (await this.#connection.binary(command, [redisKeys.log, from, to, 'COUNT', count])) as [Buffer, Buffer[]][];
    const messages: LogMessage[] = [];
    let bytes = 0;
    for (const [, fields] of reply) {
      const value = fields[1] ?? Buffer.alloc(0);
      bytes += value.length;
      const message = decodeMessage(ownBytes(value));
      if (message === null) this.#onMalformed();
      else messages.push(message);
    }
    if (reply.length > 0) {
      const fitting = Math.floor((pageBytes * reply.length) / Math.max(bytes, 1));
      this.#pageMessages = Math.max(1, Math.min(fitting, this.#pageMessages * 2, pageMessagesMax));
    }
    return { messages, lastId: reply.at(-1)?.[0].toString('latin1') ?? null };
  }

  /**
   * The seq of every topic just before offset `from`. `held` are the messages from there on that were read already. The counters in Redis
   * change while they are read. So for topics that appear from `from` on, the seqs come from the messages; the other topics have not
   * changed. Null if the epoch changed in the meantime.
   */
  async positionsBefore(from: number, held: readonly LogMessage[], epoch: string): Promise<Map<string, number> | null> {
    const positions = await this.#counters();
    const { epoch: present, offset, epochs } = await this.state(null);
    if (present !== epoch) return null;
    const appeared = new Set<string>();
    const heads = held.flatMap((message) => (epochs.has(message.epoch) ? [message.head] : []));
    for (let next = from; heads.length > 0 || next <= offset;) {
      if (heads.length === 0)
        heads.push(...(await this.#heads(next, offset)).filter((head) => epochs.has(head.epoch) && head.first >= next));
      if (heads.length === 0) break;
      for (const { names, bases, last } of heads.splice(0)) {
        names.forEach((name, place) => {
          if (!appeared.has(name)) positions.set(name, bases[place] as number);
          appeared.add(name);
        });
        next = last + 1;
      }
    }
    return positions;
  }

  async #counters(): Promise<Map<string, number>> {
    const counters = new Map<string, number>();
    let cursor = '0';
    do {
      const reply = (await this.#connection.text('hscan', redisKeys.seq, cursor, 'COUNT', countersPerCall)) as [string, string[]];
      const [next, pairs] = reply;
      for (let i = 0; i + 1 < pairs.length; i += 2) counters.set(pairs[i] as string, Number(pairs[i + 1]));
      cursor = next;
    } while (cursor !== '0' && counters.size <= busLimits.maxTopics * 2);
    return counters;
  }

  async #heads(from: number, to: number): Promise<MessageHead[]> {
    const args = [from, to, headsPerCall, headsBytesPerCall];
    const reply = (await this.#connection.run(headsScript, [redisKeys.log], args)) as Buffer[];
    return reply.flatMap((bytes) => decodeHead(bytes) ?? []);
  }
}

/** Copies bytes that are a small view of a large buffer, so that the rest of the buffer can be freed. */
export function ownBytes(bytes: Buffer): Buffer {
  return bytes.buffer.byteLength > bytes.length * 2 ? Buffer.from(bytes) : bytes;
}
