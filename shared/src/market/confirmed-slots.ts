import type { StreamEvent } from '../wire/events.ts';
import type { SlotVerdict } from './slot-verdict.ts';

/** Slots whose fate is remembered, of either kind: half an hour. */
const maxSlots = 4_096;
/** A slot so far behind a confirmed one counts as confirmed, though no verdict was read: the last resort where no node lists its blocks. */
const settledSlots = 512;

/** `wait`: its slot is neither confirmed nor dead yet. `drop`: its slot is dead or nobody can say, or it takes back what was never told. */
export type ConfirmedFate = 'pass' | 'wait' | 'drop';

/** What ingest said of slots, for those who ask for confirmed events only, and for what cannot be taken back once it is counted. */
export class ConfirmedSlots {
  readonly #alive = new Set<number>();
  readonly #dead = new Set<number>();
  #newest = 0;
  #decidedTo = 0;

  take({ alive, dead, unknown = [], decidedTo = 0 }: SlotVerdict): void {
    for (const slot of alive) {
      note(this.#alive, slot);
      if (slot > this.#newest) this.#newest = slot;
    }
    for (const slot of dead) note(this.#dead, slot);
    for (const slot of unknown) note(this.#dead, slot);
    this.#decidedTo = Math.max(this.#decidedTo, decidedTo);
  }

  fateOf(event: StreamEvent): ConfirmedFate {
    if (event.type === 'retract') return 'drop';
    return event.type === 'order' || event.commitment !== 'processed' ? 'pass' : this.fateOfSlot(event.slot);
  }

  /** Of an event at `processed`. */
  fateOfSlot(slot: number): ConfirmedFate {
    if (this.#dead.has(slot)) return 'drop';
    return this.#alive.has(slot) || slot <= Math.max(this.#decidedTo, this.#newest - settledSlots) ? 'pass' : 'wait';
  }

  /** The newest confirmed slot; 0 before the first. */
  get newest(): number {
    return this.#newest;
  }

  /** The log lost its memory. */
  clear(): void {
    this.#alive.clear();
    this.#dead.clear();
    this.#newest = this.#decidedTo = 0;
  }
}

function note(slots: Set<number>, slot: number): void {
  slots.add(slot);
  if (slots.size > maxSlots) slots.delete(slots.values().next().value!);
}
