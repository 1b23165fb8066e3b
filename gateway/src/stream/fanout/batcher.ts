import { streamLimits } from '@sluice/shared/wire/stream/limits.ts';
import type { Format } from '@sluice/shared/wire/stream/frames.ts';
import { sendAll, type TopicState } from './topic-group.ts';

/** Frames collected for one room. A flush publishes them as one message. */
export interface Batch {
  readonly format: Format;
  readonly room: string;
  readonly topic: Pick<TopicState, 'afterBatch'>;
  buffer: Buffer | null;
  length: number;
  count: number;
  publishedAtMs: number;
}

const initialBytes = 8 * 1024;
/** Buffers retained for the next batches. */
const maxSpares = 64;
/** MessagePack's `array 16` header. */
const msgpackHeader = 3;

/**
 * Collects the frames of each room for `streamLimits.batchMs`, then publishes them to the room as one array. After a pause of
 * `streamLimits.batchPauseMs`, it publishes at the end of the turn of the event loop: a slot's events arrive in one turn, and need not wait.
 */
export class Batcher {
  readonly #publish: (batch: Batch, message: Uint8Array) => void;
  readonly #spares: Buffer[] = [];
  /** Batches that the timer publishes, and those that this turn publishes. */
  #waiting: Batch[] = [];
  #ending: Batch[] = [];
  #timer: NodeJS.Timeout | null = null;

  constructor(publish: (batch: Batch, message: Uint8Array) => void) {
    this.#publish = publish;
  }

  /**
   * Makes space for a frame of at most `maxBytes`; a batch that it would make too long is published before. The caller writes the frame at
   * `batch.length` of the returned buffer, then calls `added`.
   */
  reserve(batch: Batch, maxBytes: number): Buffer {
    // With the comma before the frame, and the bracket after the last one.
    if (batch.count > 0 && batch.length + maxBytes + 2 > streamLimits.frameBytes) this.flush(batch);
    const buffer = this.#bufferOf(batch, maxBytes + 1);
    if (batch.format === 'json') buffer[batch.length++] = batch.count === 0 ? 0x5b : 0x2c;
    return buffer;
  }

  /** A frame was written that ends at `end`. */
  added(batch: Batch, end: number): void {
    batch.length = end;
    batch.count++;
    if (batch.count >= streamLimits.batchEvents) this.flush(batch);
  }

  /** False if there was nothing to publish. */
  flush(batch: Batch): boolean {
    const { buffer, count } = batch;
    if (buffer === null || count === 0) return false;
    if (batch.format === 'json') buffer[batch.length++] = 0x5d;
    else {
      buffer[0] = 0xdc;
      buffer.writeUInt16BE(count, 1);
    }
    const message = buffer.subarray(0, batch.length);
    // The batch is empty before it is published, because what is sent after it flushes batches too.
    batch.buffer = null;
    batch.length = 0;
    batch.count = 0;
    batch.publishedAtMs = performance.now();
    this.#publish(batch, message);
    if (this.#spares.length < maxSpares) this.#spares.push(buffer);
    return true;
  }

  /** Publishes everything collected so far. */
  flushAll(): void {
    for (const batch of [...this.#takeWaiting(), ...this.#takeEnding()]) this.flush(batch);
  }

  #takeWaiting(): readonly Batch[] {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const waiting = this.#waiting;
    this.#waiting = [];
    return waiting;
  }

  #takeEnding(): readonly Batch[] {
    const ending = this.#ending;
    this.#ending = [];
    return ending;
  }

  /** At the end of a turn, when each event has been written to the batches of all its followers. */
  #endTurn(batches: readonly Batch[]): void {
    const sent = batches.filter((batch) => this.flush(batch));
    for (const { topic } of sent) sendAll(topic.afterBatch);
  }

  #bufferOf(batch: Batch, bytes: number): Buffer {
    if (batch.buffer === null) {
      batch.buffer = this.#spares.pop() ?? Buffer.allocUnsafeSlow(initialBytes);
      batch.length = batch.format === 'json' ? 0 : msgpackHeader;
      if (performance.now() - batch.publishedAtMs >= streamLimits.batchPauseMs) {
        if (this.#ending.push(batch) === 1) setImmediate(() => this.#endTurn(this.#takeEnding()));
      } else {
        this.#waiting.push(batch);
        this.#timer ??= setTimeout(() => this.#endTurn([...this.#takeWaiting(), ...this.#takeEnding()]), streamLimits.batchMs);
      }
    }
    if (batch.length + bytes + 1 > batch.buffer.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(batch.buffer.length * 2, batch.length + bytes + 1));
      grown.set(batch.buffer.subarray(0, batch.length));
      batch.buffer = grown;
    }
    return batch.buffer;
  }
}
