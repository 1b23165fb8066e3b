import { ConfirmedSlots, type ConfirmedFate } from '@sluice/shared/market/verdicts/confirmed-slots.ts';
import type { SlotVerdict } from '@sluice/shared/market/verdicts/slot-verdict.ts';
import type { Commitment } from '@sluice/shared/wire/events/events.ts';

/** A slot further ahead of a confirmed one cannot exist, and waits for no verdict. */
const maxAheadSlots = 4_096;

/** What the events of a state are about, for example a mint. Each has a line of its own. */
export interface Line<Item> {
  /** Events that are not decided, in chain order: by slot, and within a slot by their places in the block, in log order if these are not known. `UndecidedEvents` alone changes it. */
  readonly waiting: Item[];
}

/** What a follower does with its events. */
export interface Folding<Item, Owner extends Line<Item>> {
  /** The fields of an item that decide about it. */
  of(item: Item): {
    readonly id: string;
    readonly slot: number;
    readonly commitment: Commitment;
    /** Its place in the block; null if it is not known. */
    readonly index: number | null;
  };
  /**
   * The event counts for good. It is the first of its line, so a line is folded in chain order. Exception: an event that comes after later ones were
   * folded (read late, or of a slot that was decided before) is folded after them.
   */
  fold(owner: Owner, item: Item): void;
  /** The event at this place of the line is retracted, or its slot is dead. It was not folded, and leaves the line after this call. */
  undo(owner: Owner, at: number): void;
  /** Events from this place of the line on are in another order. */
  reordered?(owner: Owner, at: number): void;
  /** Most items of one line. Above this limit, the oldest count for good before they are decided, as `forgotten`. */
  readonly mostOfLine: number;
}

/**
 * The rule for events that can still be retracted: an event at `processed` waits until a verdict confirms its slot, and all earlier events of its
 * line are decided. An event of a dead slot and a retracted one are dropped. Holds state, but uses no I/O and no clock.
 */
export class UndecidedEvents<Item, Owner extends Line<Item>> {
  /** Counted for good before their slots were confirmed, because of a bound. They remain even if the slot dies. */
  forgotten = 0;
  readonly #folding: Folding<Item, Owner>;
  readonly #slots = new ConfirmedSlots();
  /** Owners with undecided events, by slots that wait for a verdict. */
  readonly #bySlot = new Map<number, Set<Owner>>();
  /** Owners of which something may be decided, the oldest first. */
  readonly #due = new Set<Owner>();
  #size = 0;
  /** Slots up to here no longer wait for a verdict. */
  #releasedTo = 0;

  constructor(folding: Folding<Item, Owner>) {
    this.#folding = folding;
  }

  /** Items in all lines. */
  get size(): number {
    return this.#size;
  }

  /** Continues with a line that an earlier term left. */
  resume(owner: Owner): void {
    this.#size += owner.waiting.length;
    for (const item of owner.waiting) this.await(owner, this.#folding.of(item).slot);
  }

  /** Puts the next event of the log into its line. Returns its place; null if its slot is dead. */
  add(owner: Owner, item: Item): number | null {
    const { mostOfLine } = this.#folding;
    const { slot, index } = this.#folding.of(item);
    const fate = this.#fateOf(item);
    if (fate === 'drop') return null;
    const { waiting } = owner;
    let at = waiting.length;
    const comesBefore = (other: Item): boolean => {
      const { slot: otherSlot, index: otherIndex } = this.#folding.of(other);
      return slot < otherSlot || (slot === otherSlot && index !== null && otherIndex !== null && index < otherIndex);
    };
    while (at > 0 && comesBefore(waiting[at - 1]!)) at--;
    waiting.splice(at, 0, item);
    this.#size++;
    if (fate === 'wait') this.await(owner, slot);
    if (fate === 'pass' || waiting.length > mostOfLine) this.#due.add(owner);
    return at;
  }

  retract(owner: Owner, id: string): void {
    const at = owner.waiting.findLastIndex((item) => this.#folding.of(item).id === id);
    if (at !== -1) this.#drop(owner, at);
  }

  /** The owner is due once the slot is decided, or at once if the slot does not wait. */
  await(owner: Owner, slot: number): void {
    if (this.fateOfSlot(slot) !== 'wait') {
      this.#due.add(owner);
      return;
    }
    const waiting = this.#bySlot.get(slot);
    if (waiting === undefined) this.#bySlot.set(slot, new Set([owner]));
    else waiting.add(owner);
  }

  decide(verdict: SlotVerdict): void {
    for (const { slot, ids } of verdict.reordered ?? []) this.#reorder(slot, ids);
    this.#slots.take(verdict);
    for (const slot of this.#bySlot.keys()) if (this.fateOfSlot(slot) !== 'wait') this.#end(slot);
  }

  /** Brings events of a slot into the order of these ids, at the places that they have together. */
  #reorder(slot: number, ids: readonly string[]): void {
    const places = new Map(ids.map((id, at) => [id, at]));
    for (const owner of this.#bySlot.get(slot) ?? []) {
      const { waiting } = owner;
      const known = waiting.flatMap((item, at) => (places.has(this.#folding.of(item).id) ? [at] : []));
      if (known.length === 0) continue;
      const placeOf = (item: Item): number => places.get(this.#folding.of(item).id)!;
      const sorted = known.map((at) => waiting[at]!).toSorted((a, b) => placeOf(a) - placeOf(b));
      for (const [index, at] of known.entries()) waiting[at] = sorted[index]!;
      this.#folding.reordered?.(owner, known[0]!);
    }
  }

  /** Lets the oldest slot that waits for a verdict wait no longer. False if none waits. */
  release(): boolean {
    if (this.#bySlot.size === 0) return false;
    const oldest = Math.min(...this.#bySlot.keys());
    this.#releasedTo = Math.max(this.#releasedTo, oldest);
    this.#end(oldest);
    return true;
  }

  /** The next owner of which something may be decided; call `settle` for it. */
  nextDue(): Owner | undefined {
    const [owner] = this.#due;
    if (owner !== undefined) this.#due.delete(owner);
    return owner;
  }

  /** Folds the decided events of a line up to the first undecided one. */
  settle(owner: Owner): void {
    const { waiting } = owner;
    for (let excess = waiting.length - this.#folding.mostOfLine; waiting.length > 0; excess--) {
      const item = waiting[0]!;
      const fate = this.#fateOf(item);
      if (fate === 'drop') {
        this.#drop(owner, 0);
        continue;
      }
      if (fate === 'wait' && excess <= 0) return;
      if (fate === 'wait' || this.#isLetGo(item)) this.forgotten++;
      this.#folding.fold(owner, item);
      waiting.shift();
      this.#size--;
    }
  }

  /** For an event at `processed`. */
  fateOfSlot(slot: number): ConfirmedFate {
    const { newest } = this.#slots;
    if (slot <= this.#releasedTo || (newest > 0 && slot > newest + maxAheadSlots)) return 'pass';
    return this.#slots.fateOfSlot(slot);
  }

  #fateOf(item: Item): ConfirmedFate {
    const { commitment, slot } = this.#folding.of(item);
    return commitment === 'processed' ? this.fateOfSlot(slot) : 'pass';
  }

  #isLetGo(item: Item): boolean {
    const { commitment, slot } = this.#folding.of(item);
    return commitment === 'processed' && slot <= this.#releasedTo && this.#slots.fateOfSlot(slot) === 'wait';
  }

  #end(slot: number): void {
    for (const owner of this.#bySlot.get(slot) ?? []) this.#due.add(owner);
    this.#bySlot.delete(slot);
  }

  #drop(owner: Owner, at: number): void {
    this.#folding.undo(owner, at);
    owner.waiting.splice(at, 1);
    this.#size--;
  }
}
