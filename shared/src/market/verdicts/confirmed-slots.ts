import type { StreamEvent } from '../../wire/events/events.ts';
import type { SlotVerdict } from './slot-verdict.ts';

/** Number of live slots and of dead slots that are remembered: about 14 minutes of each. */
const maxSlots = 4_096;
/**
 * A slot this far behind a confirmed one is treated as confirmed even without a verdict. This is the last resort if no node lists its blocks.
 */
const settledSlots = 512;

/**
 * `wait`: the slot is neither confirmed nor dead yet. `drop`: the slot is dead, its fate can never be known, or the event retracts one that
 * was never delivered.
 */
export type ConfirmedFate = 'pass' | 'wait' | 'drop';

/**
 * The verdicts of ingest on slots. Used for clients that receive confirmed events only, and for sums that cannot be corrected once an event
 * is counted.
 */
export class ConfirmedSlots {
  readonly #alive = new Set<number>();
  readonly #dead = new Set<number>();
  /** Ids of retracted events, by confirmed slot. */
  readonly #retracted = new Map<number, ReadonlySet<string>>();
  #newest = 0;
  #decidedTo = 0;

  take({ alive, dead, retracted = [], unknown = [], decidedTo = 0 }: SlotVerdict): void {
    for (const { slot, ids } of retracted) this.#retract(slot, ids);
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
    if (event.type === 'order' || event.type === 'trigger' || event.type === 'position' || event.commitment !== 'processed') return 'pass';
    return this.isRetracted(event.slot, event.id) ? 'drop' : this.fateOfSlot(event.slot);
  }

  /** Whether the confirmed block of the slot lacks the transaction of this event. */
  isRetracted(slot: number, id: string): boolean {
    return this.#retracted.get(slot)?.has(id) === true;
  }

  /** For an event at `processed` that was not retracted. */
  fateOfSlot(slot: number): ConfirmedFate {
    if (this.#dead.has(slot)) return 'drop';
    return this.#alive.has(slot) || slot <= Math.max(this.#decidedTo, this.#newest - settledSlots) ? 'pass' : 'wait';
  }

  /** The newest confirmed slot; 0 before the first one. */
  get newest(): number {
    return this.#newest;
  }

  /** Forgets everything. Call it when the log has lost its memory. */
  clear(): void {
    this.#alive.clear();
    this.#dead.clear();
    this.#retracted.clear();
    this.#newest = this.#decidedTo = 0;
  }

  #retract(slot: number, ids: readonly string[]): void {
    this.#retracted.set(slot, new Set([...(this.#retracted.get(slot) ?? []), ...ids]));
    if (this.#retracted.size > maxSlots) this.#retracted.delete(this.#retracted.keys().next().value!);
  }
}

function note(slots: Set<number>, slot: number): void {
  slots.add(slot);
  if (slots.size > maxSlots) slots.delete(slots.values().next().value!);
}
