import type { LogPosition } from './bus.ts';
import { isLater } from './epoch.ts';

/** The newest position that this process has stored in the log, or read there. If the log lacks it, something was lost. */
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

/** The form in which a position is stored. */
export function positionText({ epoch, offset }: LogPosition): string {
  return `${epoch} ${offset}`;
}

/** Null for other bytes. */
export function readPosition(stored: Buffer): LogPosition | null {
  const [epoch, offset] = stored.toString('latin1').split(' ');
  return epoch === undefined || offset === undefined ? null : { epoch, offset: Number(offset) };
}
