import type { Gap, Position } from '../wire.ts';

/** `deliver`: it is the next event. `repeat`: it was received before. `hole`: events before it are missing, and no gap reported them. */
export type FrameVerdict = 'deliver' | 'repeat' | 'hole';

/** How far one topic was received. Pure. */
export class Place {
  #epoch: string;
  #seq: number;
  /** It is unknown how many events are missing, so the next frame is accepted with any number. */
  #isOpen = false;
  /** Frames of this epoch up to here were received. A gateway that is behind may send them again. */
  #received: number;

  constructor({ epoch, seq }: Position) {
    this.#epoch = epoch;
    this.#seq = seq;
    this.#received = seq;
  }

  get epoch(): string {
    return this.#epoch;
  }

  /** Where to resume. */
  get position(): Position {
    return { epoch: this.#epoch, seq: this.#seq };
  }

  /** The reply to a subscribe command that resumed. If it did not recover, a gap follows. */
  resume({ epoch, seq, recovered }: Position & { readonly recovered: boolean }): void {
    if (!recovered) {
      if (epoch !== this.#epoch) this.#received = 0;
      this.#seq = seq;
      this.#isOpen = false;
    }
    this.#epoch = epoch;
  }

  /** `prev`: only under a filter, the number of the frame before this one that passed it. */
  frame(seq: number, prev: number | undefined): FrameVerdict {
    if (!this.#isOpen) {
      if (seq <= this.#seq) return 'repeat';
      if (prev === undefined ? seq !== this.#seq + 1 : prev > this.#seq) return 'hole';
    }
    this.#isOpen = false;
    this.#seq = seq;
    if (seq <= this.#received) return 'repeat';
    this.#received = seq;
    return 'deliver';
  }

  gap({ from, to, reason, epoch }: Pick<Gap, 'from' | 'to' | 'reason' | 'epoch'>): void {
    const isContinued = to !== null && to < from;
    if (epoch !== this.#epoch && !isContinued) this.#received = 0;
    this.#epoch = epoch;
    if (isContinued) return;
    if (to === null) {
      this.#isOpen = true;
      if (reason === 'ahead') this.#seq = from - 1;
    } else this.#seq = Math.max(this.#seq, to);
  }

  /** False if the gateway has sent a frame that did not arrive. Under a filter, frames up to this number did not pass it. */
  heartbeat({ epoch, seq }: Position, isFiltered: boolean): boolean {
    if (epoch !== this.#epoch) return false;
    if (isFiltered) {
      this.#seq = Math.max(this.#seq, seq);
      return true;
    }
    return this.#isOpen || seq <= this.#seq;
  }
}
