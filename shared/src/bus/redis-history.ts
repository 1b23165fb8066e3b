import { busLimits, type EpochPlace, type LogEntry, type LogPosition } from './bus.ts';
import { BusError, RedisFault } from './bus-error.ts';
import { epochEnding } from './epoch.ts';
import { decodeHead, decodeMessage, formatVersion, type LogMessage, type MessageHead } from './message.ts';
import type { RedisConnection } from './redis-connection.ts';
import { epochsOf, headsScript, logKeys, redisKeys, stateScript, versionMismatch, type EpochEnd } from './redis-scripts.ts';

/** Bytes that one page of history aims at, and bounds of its messages. */
const pageBytes = 1024 * 1024;
const pageMessagesFirst = 16;
const pageMessagesMax = 512;
/** Heads that one call reads, and bytes of messages that it may look at: it keeps Redis from all else for some ms. */
const headsPerCall = 256;
const headsBytesPerCall = 4 * 1024 * 1024;
/** Counters that one call reads. */
const countersPerCall = 2_000;

/** The state of the log. */
export interface LogState {
  /** The epoch that is written now. */
  readonly epoch: string;
  readonly offset: number;
  /** All epochs of the log, oldest first: a message of another one is not of this log. */
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

/** Reads of the log in Redis. All methods reject when the link fails; `state` also with `INCOMPATIBLE`. */
export class RedisHistory {
  readonly #connection: RedisConnection;
  readonly #onMalformed: () => void;
  #pageMessages = pageMessagesFirst;

  constructor(connection: RedisConnection, onMalformed: () => void) {
    this.#connection = connection;
    this.#onMalformed = onMalformed;
  }

  /** Reads the state of the log. The first read of a memory of Redis begins its epoch. If the log lacks what is `known`, its followers report that. */
  async state(known: LogPosition | null): Promise<LogState> {
    try {
      const args = [formatVersion, epochEnding(), known?.epoch ?? '', known?.offset ?? 0];
      const [offset, text] = (await this.#connection.run(stateScript, logKeys, args)) as [number, Buffer];
      const epochs = epochsOf(text.toString('latin1'));
      return { epoch: [...epochs.keys()].at(-1) as string, offset, epochs };
    } catch (error) {
      throw asIncompatible(error);
    }
  }

  /** The next messages that begin at offset `from` or later; none where none are stored. */
  async page(from: number): Promise<readonly LogMessage[]> {
    return (await this.#read('xrange', String(from), '+')).messages;
  }

  /** The newest entries, at most `maxEntries`, oldest first. */
  async tail(maxEntries: number): Promise<readonly LogEntry[]> {
    const newestFirst: LogEntry[] = [];
    const { epochs } = await this.state(null);
    let before = '+';
    while (newestFirst.length < maxEntries) {
      const { messages, lastId } = await this.#read('xrevrange', before, '-');
      // What was written in an epoch that began meanwhile is newer than the call; a log that began again has nothing older.
      const own = messages.filter(({ epoch }) => epochs.has(epoch));
      if (lastId === null || (newestFirst.length > 0 && own.length < messages.length)) break;
      for (const { entries } of own) newestFirst.push(...entries.toReversed());
      before = `(${lastId}`;
    }
    return newestFirst.slice(0, maxEntries).toReversed();
  }

  /** One page of messages, and the id of the last of them in the log; null behind the end. */
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
      if (message.kind === 'malformed') this.#onMalformed();
      else messages.push(message);
    }
    if (reply.length > 0) {
      const fitting = Math.floor((pageBytes * reply.length) / Math.max(bytes, 1));
      this.#pageMessages = Math.max(1, Math.min(fitting, this.#pageMessages * 2, pageMessagesMax));
    }
    return { messages, lastId: reply.at(-1)?.[0].toString('latin1') ?? null };
  }

  /**
   * The seq of every topic just before offset `from`, where `held` are the messages from there on that are in hand
   * already. The counters in Redis run on while they are read, so those of topics that appear from `from` on are taken
   * from the messages themselves; a topic that does not appear has not moved. Null when the epoch changed meanwhile.
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
    const heads: MessageHead[] = [];
    for (const bytes of reply) {
      const head = decodeHead(bytes);
      if (head.kind === 'head') heads.push(head);
    }
    return heads;
  }
}

/** Copies bytes that are a small view of a large buffer, so that keeping them does not keep the rest of it. */
export function ownBytes(bytes: Buffer): Buffer {
  return bytes.buffer.byteLength > bytes.length * 2 ? Buffer.from(bytes) : bytes;
}

/** The `INCOMPATIBLE` error where a script refused the log's version, else the error as it is. */
export function asIncompatible(error: unknown): unknown {
  if (!(error instanceof RedisFault) || error.word !== versionMismatch) return error;
  return new BusError(
    'INCOMPATIBLE',
    `The log in Redis has another version than this program's (${formatVersion}). Let programs of one version run, or delete the keys {sluice}:*.`,
    error,
  );
}
