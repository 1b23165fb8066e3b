import type { Gap, Position } from '../wire.ts';

/** `deliver`: it is the next event. `repeat`: it was received before. `hole`: events before it are missing, and no gap reported them. */
export type FrameVerdict = 'deliver' | 'repeat' | 'hole';

/** Tracks which frames of one topic were received. Uses no I/O and no clock. */
export class TopicProgress {
  #epoch: string;
  #seq: number;
  /** It is unknown how many events are missing, so the next frame is accepted with any number. */
  #acceptsAnyNumber = false;
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

  /** Applies the reply to a `subscribe` with `since`. If `recovered` is false, a gap follows. */
  resume({ epoch, seq, recovered }: Position & { readonly recovered: boolean }): void {
    if (!recovered) {
      if (epoch !== this.#epoch) this.#received = 0;
      this.#seq = seq;
      this.#acceptsAnyNumber = false;
    }
    this.#epoch = epoch;
  }

  /** `prev`: the number of the previous frame that passed the filter. It is set only if the subscription has a filter. */
  frame(seq: number, prev: number | undefined): FrameVerdict {
    if (!this.#acceptsAnyNumber) {
      if (seq <= this.#seq) return 'repeat';
      if (prev === undefined ? seq !== this.#seq + 1 : prev > this.#seq) return 'hole';
    }
    this.#acceptsAnyNumber = false;
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
      this.#acceptsAnyNumber = true;
      if (reason === 'ahead') this.#seq = from - 1;
    } else this.#seq = Math.max(this.#seq, to);
  }

  /** Returns false if the gateway has sent a frame that did not arrive. With a filter, no further frame up to this number passed the filter. */
  heartbeat({ epoch, seq }: Position, isFiltered: boolean): boolean {
    if (epoch !== this.#epoch) return false;
    if (isFiltered) {
      this.#seq = Math.max(this.#seq, seq);
      return true;
    }
    return this.#acceptsAnyNumber || seq <= this.#seq;
  }
}
