/** Slots before the newest from which a replay is requested: the newest may be incomplete, and blocks of several slots may be on their way. */
const replaySlots = 8;
/** Blocks that are remembered: three minutes. */
const maxBlocks = 1_024;
/** A slot this much lower than the newest shows that the newest was wrong, and is no fork. */
const maxForkSlots = 512;

/**
 * The slots that one endpoint has sent. Finds out what it has not sent: after a reconnect, the first slot must be at or before the requested one, and each
 * block must follow one that was sent. It uses no I/O and no clock.
 */
export class SeenSlots {
  readonly #missed: (fromSlot: number, toSlot: number) => void;
  readonly #blocks = new Set<number>();
  #newest: number;
  /** The slot at which the replay of the current connection must begin; null once it began. */
  #expected: number | null = null;

  /** `missed` receives the slots after `fromSlot`, up to `toSlot`. */
  constructor(newest: number, missed: (fromSlot: number, toSlot: number) => void) {
    this.#newest = newest;
    this.#missed = missed;
  }

  /** A connection begins. Returns the slot from which it needs a replay; null if it is the first. */
  begin(): number | null {
    const blocks = [...this.#blocks];
    const before = blocks.filter((slot) => slot <= this.#newest - replaySlots);
    // A slot that is known to have a block: the first slot that arrives can be compared with it.
    const from = before.length > 0 ? Math.max(...before) : blocks.length > 0 ? Math.min(...blocks) : this.#newest;
    this.#expected = from === 0 ? null : from;
    return this.#expected;
  }

  /** Something of this slot arrived. */
  note(slot: number): void {
    if (this.#expected !== null && slot > this.#expected) {
      this.#blocks.clear();
      // Of the newest slot, only a part may have arrived.
      if (slot > this.#newest) this.#missed(this.#newest - 1, slot - 1);
      else this.#missed(this.#expected - 1, this.#newest);
    }
    this.#expected = null;
    if (slot > this.#newest || this.#newest - slot > maxForkSlots) this.#newest = slot;
  }

  /** The block of a slot arrived. Its transactions may arrive later. */
  block(slot: number, parent: number): void {
    this.note(slot);
    const known = [...this.#blocks];
    if (known.length > 0 && !this.#blocks.has(parent) && parent > Math.min(...known)) {
      this.#missed(Math.max(...known.filter((one) => one < parent)), parent);
    }
    this.#blocks.add(slot);
    if (this.#blocks.size > maxBlocks) this.#blocks.delete(this.#blocks.values().next().value!);
  }
}
