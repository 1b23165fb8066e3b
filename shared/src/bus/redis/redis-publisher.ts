import { randomBytes } from 'node:crypto';
import type { Logger } from '../../runtime/log/log.ts';
import { whenAborted } from '../../runtime/abort/when-aborted.ts';
import { busLimits, type BusEntry, type BusPublisher } from '../bus.ts';
import { BusError, closedError, RedisFault, partlyStored, tooManyStatuses } from '../bus-error.ts';
import { checkEntry, statusText } from '../entry-checks.ts';
import { epochEnding } from '../epoch.ts';
import type { KnownPosition } from '../known-position.ts';
import { BatchEncoder, formatVersion, maxBatchBytes, maxBatchEntries, viewsOf } from '../message.ts';
import { pause } from '../../runtime/abort/pause.ts';
import { backoffMs } from './redis-connect.ts';
import type { RedisConnection } from './redis-connection.ts';
import { logKeys, publishScript, redisKeys, setStatusScript } from './redis-scripts.ts';

/** Maximum number of entries and bytes that wait to be stored. If a call would exceed it, `publish` rejects with `QUEUE_FULL`, and the caller must drop entries or wait for its earlier calls. While Redis does not answer, this bounds the memory.
 */
export const publishQueue = { maxEntries: 50_000, maxBytes: 64 * 1024 * 1024 } as const;

/** How long Redis remembers the number of a publisher's last batch: longer than any outage that a batch waits for. */
const publisherTtlMs = 3_600_000;
/** How long `close` waits for queued entries. */
const closeGraceMs = 2_000;

/** Bounds of the log that this publisher writes. */
export interface LogLimits {
  readonly maxEntries: number;
  readonly maxTopics: number;
}

interface LeaseTerm {
  readonly name: string;
  readonly fence: number;
}

export interface PublisherParts {
  readonly connection: RedisConnection;
  readonly channel: string;
  readonly limits: LogLimits;
  /** A term of a lease, and the epoch in which it began. The publisher writes only in this epoch. */
  readonly leaseTerm: (LeaseTerm & { readonly epoch: string }) | null;
  readonly known: KnownPosition;
  readonly log: Logger;
  readonly onClosed: () => void;
}

/** One call of `publish`. */
interface Call {
  readonly entries: readonly BusEntry[];
  /** Entries put into batches so far. */
  batched: number;
  /** Entries of batches that are stored. */
  stored: number;
  readonly resolve: () => void;
  readonly reject: (error: BusError) => void;
}

interface Batch {
  readonly entries: readonly BusEntry[];
  /** Calls with entries in this batch. */
  readonly calls: readonly Call[];
}

/**
 * Stores batches one after the other. Entries that are published while a batch is being stored form the next batch. So batches grow with the
 * load, and the order is preserved. A batch whose answer was lost can be sent again, because the script knows its number.
 */
export class RedisPublisher implements BusPublisher {
  readonly #parts: PublisherParts;
  readonly #encoder = new BatchEncoder();
  readonly #closing = new AbortController();
  readonly #keys: string[];
  /** For each epoch that this publisher begins. A new one for each batch would cost more than to encode an event. */
  readonly #epochEnding = epochEnding();
  #queue: Call[] = [];
  #queuedEntries = 0;
  #queuedBytes = 0;
  #running: Promise<void> | null = null;
  #accepting = true;
  #batchNumber = 0;

  constructor(parts: PublisherParts) {
    this.#parts = parts;
    this.#keys = [...logKeys, redisKeys.publisher(randomBytes(9).toString('base64url'))];
    if (parts.leaseTerm !== null) this.#keys.push(redisKeys.lease(parts.leaseTerm.name));
  }

  /** Rejects with `INVALID`, `QUEUE_FULL`, `FENCED`, `CLOSED`, or `UNAVAILABLE`/`INCOMPATIBLE` if Redis refuses permanently. */
  publish(entries: readonly BusEntry[]): Promise<void> {
    if (!this.#accepting) return Promise.reject(closedError());
    let bytes = 0;
    try {
      for (const entry of entries) {
        checkEntry(entry);
        bytes += entry.record.length;
      }
    } catch (error) {
      return Promise.reject(error);
    }
    if (entries.length === 0) return Promise.resolve();
    if (this.#queuedEntries + entries.length > publishQueue.maxEntries || this.#queuedBytes + bytes > publishQueue.maxBytes) {
      return Promise.reject(new BusError('QUEUE_FULL', `${this.#queuedEntries} entries are waiting to be stored, the most that can wait.`));
    }
    this.#queuedEntries += entries.length;
    this.#queuedBytes += bytes;
    return new Promise((resolve, reject) => {
      this.#queue.push({ entries, batched: 0, stored: 0, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  async setStatus(name: string, value: Readonly<Record<string, unknown>>, ttlMs: number): Promise<void> {
    if (!this.#accepting) throw closedError();
    await setStatus(this.#parts.connection, this.#parts.leaseTerm, name, value, ttlMs);
  }

  async close(): Promise<void> {
    if (!this.#accepting) return;
    this.#accepting = false;
    if (this.#running !== null) {
      const grace = new AbortController();
      await Promise.race([this.#running, pause(closeGraceMs, grace.signal)]);
      grace.abort();
    }
    this.#closing.abort();
    for (const call of this.#queue) call.reject(partlyStored(closedError(), call.stored));
    this.#queue = [];
    this.#parts.onClosed();
  }

  async #run(): Promise<void> {
    // Collects everything that is published before this call stack ends.
    await Promise.resolve();
    while (this.#queue.length > 0 && !this.#closing.signal.aborted) {
      const batch = this.#take();
      this.#encoder.encode(batch.entries);
      const error = await this.#store();
      this.#settle(batch, error);
    }
    this.#running = null;
  }

  /** Removes the next entries from the queue, in order, up to the bounds of a batch. */
  #take(): Batch {
    const entries: BusEntry[] = [];
    const calls: Call[] = [];
    let bytes = 0;
    let views = 0;
    let taken = 0;
    const fits = (entry: BusEntry): boolean =>
      entries.length === 0 || (views + viewsOf(entry) <= maxBatchEntries && bytes + entry.record.length <= maxBatchBytes);
    for (const call of this.#queue) {
      const batchedBefore = call.batched;
      for (let next = call.entries[call.batched]; next !== undefined && fits(next); next = call.entries[++call.batched]) {
        entries.push(next);
        bytes += next.record.length;
        views += viewsOf(next);
      }
      if (call.batched > batchedBefore) calls.push(call);
      if (call.batched < call.entries.length) break;
      taken++;
    }
    this.#queue.splice(0, taken);
    this.#queuedEntries -= entries.length;
    this.#queuedBytes -= bytes;
    return { entries, calls };
  }

  #settle(batch: Batch, error: BusError | null): void {
    for (const call of batch.calls) {
      if (error !== null) call.reject(partlyStored(error, call.stored));
      else if (call.batched === call.entries.length) call.resolve();
      else call.stored = call.batched;
    }
    // The rest of a call that failed is dropped, because the log lacks the entries before it.
    const [next] = this.#queue;
    if (error === null || next === undefined || next.batched === 0) return;
    this.#queue.shift();
    for (const entry of next.entries.slice(next.batched)) {
      this.#queuedEntries -= 1;
      this.#queuedBytes -= entry.record.length;
    }
  }

  /** Stores one batch, and repeats it after temporary errors. Returns any other error. */
  async #store(): Promise<BusError | null> {
    this.#batchNumber += 1;
    for (let attempt = 1; ; attempt += 1) {
      if (this.#closing.signal.aborted) return closedError();
      const error = await this.#send().then(
        () => null,
        (reason: unknown) => reason,
      );
      if (error === null) return null;
      if (!(error instanceof RedisFault)) {
        if (error instanceof BusError) return error;
        throw error;
      }
      if (error.kind === 'refused') {
        this.#parts.log.error({ reason: error.message }, 'bus_publish_refused');
        return error;
      }
      if (attempt === 1) this.#parts.log.warn({ reason: error.message, queued: this.#queuedEntries }, 'bus_publish_waits');
      await this.#wait(attempt);
    }
  }

  async #send(): Promise<void> {
    const { connection, channel, limits, leaseTerm, known } = this.#parts;
    const { counts } = this.#encoder;
    const args = [
      formatVersion,
      this.#epochEnding,
      known.at?.epoch ?? '',
      known.at?.offset ?? 0,
      leaseTerm?.epoch ?? '',
      this.#batchNumber,
      channel,
      counts,
      counts.readUInt16BE(0),
      counts.readUInt16BE(2),
      limits.maxEntries + maxBatchEntries,
      limits.maxTopics,
      publisherTtlMs,
      leaseTerm?.fence ?? '',
      connection.deployment.kind === 'cluster' ? 'SPUBLISH' : 'PUBLISH',
    ];
    const [epoch, offset] = (await connection.runFramed(publishScript, this.#keys, args, this.#encoder)) as [Buffer, number];
    known.note({ epoch: epoch.toString('latin1'), offset });
  }

  /** Waits before the next attempt. Returns earlier if the connection is established or the publisher closes. */
  async #wait(attempt: number): Promise<void> {
    const over = new AbortController();
    const stopWatchingClose = whenAborted(this.#closing.signal, () => over.abort());
    const stop = this.#parts.connection.onReady(() => over.abort());
    await pause(backoffMs(attempt), over.signal);
    stop();
    stopWatchingClose();
  }
}

/** Sets a status. With a `leaseTerm`, rejects with `FENCED` if the term is over. */
export async function setStatus(
  connection: RedisConnection,
  leaseTerm: LeaseTerm | null,
  name: string,
  value: Readonly<Record<string, unknown>>,
  ttlMs: number,
): Promise<void> {
  const keys = [redisKeys.status, ...(leaseTerm === null ? [] : [redisKeys.lease(leaseTerm.name)])];
  const args = [name, statusText(name, value, ttlMs), ttlMs, busLimits.maxStatuses, leaseTerm?.fence ?? ''];
  if ((await connection.run(setStatusScript, keys, args)) !== 1) throw tooManyStatuses();
}
