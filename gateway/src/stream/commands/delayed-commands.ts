import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { Connection } from '../session/connection.ts';
import { DelayedMessages } from '../session/delayed-messages.ts';

/** The shortest wait, so that one turn carries out several messages. */
const turnMs = 50;

export interface DelayedCommandsParts {
  readonly clock: Clock;
  /** Carries out a message. Returns how long it must still wait, milliseconds; 0 if it was carried out. */
  readonly carryOut: (connection: Connection, bytes: Uint8Array, binary: boolean) => number;
}

/**
 * The messages of PumpPortal clients above the rate of their connection. These clients do not repeat a refused message, so it is carried out
 * later. A connection whose messages exceed the bounds is closed with 4029.
 */
export class DelayedCommands {
  readonly #parts: DelayedCommandsParts;

  constructor(parts: DelayedCommandsParts) {
    this.#parts = parts;
  }

  /** Adds a message behind those that wait already. `waitMs`: until the first can be carried out. */
  add(connection: Connection, bytes: Uint8Array, binary: boolean, waitMs: number): void {
    if (connection.delayed === null) {
      const owner = connection.usage ?? connection.keyless;
      if (owner === null) throw new Error('a message waits that belongs to no key and no address');
      connection.delayed = new DelayedMessages(owner.delayed);
      this.#wait(connection, connection.delayed, waitMs);
    }
    if (!connection.delayed.add(bytes, binary)) connection.close('RATE_LIMIT', 'too many messages wait');
  }

  #wait(connection: Connection, delayed: DelayedMessages, waitMs: number): void {
    const { clock } = this.#parts;
    delayed.cancelTimer = clock.after(Math.max(waitMs, turnMs), () => this.#continue(connection, delayed), { ref: false });
  }

  #continue(connection: Connection, delayed: DelayedMessages): void {
    for (let message = delayed.first; message !== undefined; message = delayed.first) {
      // While a key is checked, its messages wait for that too.
      const isChecking = connection.pending !== null;
      const waitMs = isChecking ? turnMs : this.#parts.carryOut(connection, message.bytes, message.binary);
      if (connection.ended) return;
      if (waitMs > 0) {
        this.#wait(connection, delayed, waitMs);
        return;
      }
      delayed.removeFirst();
    }
    connection.delayed = null;
  }
}
