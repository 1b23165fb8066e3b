interface Waiting {
  readonly host: string;
  readonly grant: () => void;
}

/**
 * Limits concurrent requests, in all and to one host. Requests beyond the limit wait in order of arrival. A later request passes an earlier
 * one only if its own host has room. If the queue is full, a request is refused.
 */
export class FetchSlots {
  readonly #total: number;
  readonly #perHost: number;
  readonly #maxWaiting: number;
  readonly #busy = new Map<string, number>();
  #running = 0;
  #waiting: Waiting[] = [];

  constructor({ total, perHost, maxWaiting }: { readonly total: number; readonly perHost: number; readonly maxWaiting: number }) {
    this.#total = total;
    this.#perHost = perHost;
    this.#maxWaiting = maxWaiting;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Resolves to a function that releases the slot (once); null if the queue is full or `signal` aborted. */
  enter(host: string, signal: AbortSignal): Promise<(() => void) | null> {
    if (signal.aborted) return Promise.resolve(null);
    if (this.#hasRoom(host)) return Promise.resolve(this.#take(host));
    if (this.#waiting.length >= this.#maxWaiting) return Promise.resolve(null);
    return new Promise((resolve) => {
      const giveUp = (): void => {
        this.#waiting = this.#waiting.filter((one) => one !== waiting);
        resolve(null);
      };
      const waiting: Waiting = {
        host,
        grant: () => {
          signal.removeEventListener('abort', giveUp);
          resolve(this.#take(host));
        },
      };
      signal.addEventListener('abort', giveUp, { once: true });
      this.#waiting.push(waiting);
    });
  }

  #hasRoom(host: string): boolean {
    return this.#running < this.#total && (this.#busy.get(host) ?? 0) < this.#perHost;
  }

  #take(host: string): () => void {
    this.#running++;
    this.#busy.set(host, (this.#busy.get(host) ?? 0) + 1);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#running--;
      const left = (this.#busy.get(host) ?? 1) - 1;
      if (left === 0) this.#busy.delete(host);
      else this.#busy.set(host, left);
      this.#next();
    };
  }

  #next(): void {
    const at = this.#waiting.findIndex(({ host }) => this.#hasRoom(host));
    if (at >= 0) this.#waiting.splice(at, 1)[0]!.grant();
  }
}
