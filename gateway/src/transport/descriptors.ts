import { closeSync, openSync, readFileSync } from 'node:fs';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';

/** Descriptors for files, nodes, Redis and the store, that clients never get: a sixteenth of all, within these bounds. */
const [leastReserve, mostReserve] = [32, 512] as const;
const lookEveryMs = 1_000;

/** A listener that must not accept clients while the process cannot open anything, although it has a reserve. */
export interface PausableListener {
  pause(): void;
  /** False: it failed, and is tried again. */
  resume(): boolean;
}

/**
 * Keeps file descriptors free. If a process has none, it can open neither a file nor a connection to a node, and uWebSockets.js tries without
 * a pause to accept the next client. Two levels: if few are left (`scarce`), new streams are refused and HTTP connections end with their next
 * answer. If only the reserve is left, new connections are closed at once.
 *
 * The system gives each new file the lowest free number, so the number of a file that is opened now shows how many are in use at least.
 */
export class Descriptors {
  /** Connections closed at once. */
  closed = 0;
  readonly #log: Logger;
  readonly #timer: NodeJS.Timeout;
  #limit = limitOf();
  #scarce = false;
  #exhausted = false;

  constructor(log: Logger, listener: PausableListener) {
    this.#log = log;
    this.#timer = setInterval(() => this.#look(listener), lookEveryMs);
    this.#timer.unref();
  }

  get scarce(): boolean {
    return this.#scarce;
  }

  /** Called for each new connection. False: it must be closed. */
  admit(): boolean {
    const lowest = lowestFree();
    this.#see(lowest);
    if (lowest !== null && lowest < this.#limit - reserveOf(this.#limit)) return true;
    this.closed++;
    return false;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #look(listener: PausableListener): void {
    const lowest = lowestFree();
    if (lowest !== null) this.#limit = limitOf();
    this.#see(lowest);
    if (lowest === null && !this.#exhausted) {
      this.#exhausted = true;
      listener.pause();
      this.#log.error({ limit: this.#limit }, 'descriptors_exhausted');
    } else if (this.#exhausted && !this.#scarce) {
      this.#exhausted = !listener.resume();
      if (this.#exhausted) this.#log.error({}, 'listener_not_resumed');
    }
  }

  #see(lowest: number | null): void {
    const scarce = lowest === null || lowest >= this.#limit - 2 * reserveOf(this.#limit);
    if (scarce === this.#scarce) return;
    this.#scarce = scarce;
    if (scarce) this.#log.warn({ limit: this.#limit }, 'descriptors_scarce');
    else this.#log.info({ closedConnections: this.closed }, 'descriptors_enough');
  }
}

function reserveOf(limit: number): number {
  return Math.min(mostReserve, Math.max(leastReserve, Math.floor(limit / 16)));
}

/** The lowest free descriptor; null if there is none. */
function lowestFree(): number | null {
  try {
    const descriptor = openSync('/dev/null', 'r');
    closeSync(descriptor);
    return descriptor;
  } catch {
    return null;
  }
}

/** How many files the process may open. Node.js raises its limit to the highest that is allowed. Systems other than Linux do not show it. */
function limitOf(): number {
  try {
    return Number(/^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? Number.POSITIVE_INFINITY);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
