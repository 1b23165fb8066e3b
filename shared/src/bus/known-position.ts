import type { LogPosition } from './bus.ts';
import { isLater } from './epoch.ts';

/** The last position that a process stored in the log or read there, over all its publishers: what the log must not lack. */
export class KnownPosition {
  #at: LogPosition | null = null;

  get at(): LogPosition | null {
    return this.#at;
  }

  note({ epoch, offset }: LogPosition): void {
    const before = this.#at;
    if (before === null || isLater(epoch, before.epoch) || (epoch === before.epoch && offset > before.offset)) this.#at = { epoch, offset };
  }
}
