/** Slots whose state is retained, about 14 minutes. Above this limit, the oldest is dropped, and counted if it was still open. */
const maxSlots = 4_096;
/** Dead slots that are remembered, so that later reports of them are ignored. */
const maxDead = 4_096;

/** Slots that have been decided. */
export interface Verdict {
  /** On the living branch. */
  readonly alive: readonly number[];
  readonly dead: readonly number[];
}

interface Slot {
  /** `contested`: endpoints contradict each other. */
  parent: number | 'contested' | null;
  reported: boolean;
  /** `unknown`: given up. The slot remains as it was reported. */
  fate: 'open' | 'alive' | 'dead' | 'unknown';
  filled: boolean;
}

const nothing: Verdict = { alive: [], dead: [] };

/**
 * Decides the state of every slot from three inputs: the slots that sources report with their parents, the confirmed slots, and confirmed blocks, which
 * name their parents. A confirmed slot lives, and so do all its ancestors; slots that were reported between them are dead. If a parent is missing, the
 * block of the slot itself decides. Uses no I/O and no clock.
 */
export class SlotLedger {
  /** The newest confirmed slot; 0 before the first. */
  confirmed = 0;
  /** The highest slot up to which everything is known to be complete; 0 before any. */
  watermark = 0;
  readonly #slots = new Map<number, Slot>();
  readonly #dead = new Set<number>();
  /**
   * `seen`: reported live. `filled`: not reported live, or incompletely, and read from history. `skipped`: the chain has no block there. `dead`: reported,
   * and on no living branch. `unjudged`: dropped while open, beyond the bound, or because no endpoint shows what became of it.
   */
  readonly #counts = { seen: 0, filled: 0, skipped: 0, dead: 0, unjudged: 0 };

  /** `open`: not known yet. All others count since the start. */
  get counts() {
    return { ...this.#counts, open: this.#slots.size };
  }

  isDead(slot: number): boolean {
    return this.#dead.has(slot);
  }

  isAlive(slot: number): boolean {
    return this.#slots.get(slot)?.fate === 'alive' || (slot <= this.watermark && !this.#dead.has(slot));
  }

  /** Whether a slot is decided, and not only by its place. */
  isDecided(slot: number): boolean {
    return this.#slots.get(slot)?.fate === 'alive' || this.#dead.has(slot);
  }

  /** Continues after a slot up to which everything was complete when this process began, or became the leader. */
  resume(watermark: number): void {
    this.watermark = watermark;
    this.confirmed = Math.max(this.confirmed, watermark);
  }

  /** What is known of some slots. */
  recall(slots: readonly number[]): Verdict {
    const alive = slots.filter((slot) => this.#slots.get(slot)?.fate === 'alive');
    return { alive, dead: slots.filter((slot) => this.#dead.has(slot)) };
  }

  /** A source reported a slot. */
  report(slot: number, parent: number | null): void {
    if (slot <= this.watermark) return;
    const known = this.#at(slot);
    known.reported = true;
    if (parent !== null && known.parent !== parent) known.parent = known.parent === null ? parent : 'contested';
  }

  /** Something of a slot was not seen live, and was read from history. */
  fill(slot: number): void {
    if (slot > this.watermark) this.#at(slot).filled = true;
  }

  confirm(slot: number): Verdict {
    if (slot <= this.confirmed) return nothing;
    const alive: number[] = [];
    let lowest = slot;
    for (let at: number | null = slot; at !== null && at > this.confirmed; at = this.#parentOf(at)) {
      alive.push(at);
      lowest = at;
    }
    const before = this.confirmed;
    this.confirmed = slot;
    // If it does not lead back to the slot that was confirmed before, nothing is known of the slots between.
    const from = this.#parentOf(lowest) === before ? before : lowest;
    const onBranch = new Set(alive);
    const dead = this.#openSlots((other) => other > from && other < slot && !onBranch.has(other));
    return this.decide(alive.toReversed(), dead);
  }

  /** The confirmed block of a slot names its parent: the parent lives, and the slots between have no block. */
  link(slot: number, parent: number): Verdict {
    if (slot <= this.watermark) return nothing;
    this.#at(slot).parent = parent;
    const dead = this.#openSlots((other) => other > parent && other < slot);
    const isOpen = parent > this.watermark && ['open', 'unknown'].includes(this.#at(parent).fate);
    return this.decide(isOpen ? [parent] : [], dead);
  }

  /** The chain has confirmed slots up to this one, although no source may have reported that. */
  reach(slot: number): void {
    this.confirmed = Math.max(this.confirmed, slot);
  }

  /** Nothing shows what became of these slots. */
  giveUp(slots: readonly number[]): void {
    for (const slot of slots) this.#at(slot).fate = 'unknown';
  }

  /** Everything up to `slot` is complete. */
  complete(slot: number): void {
    if (slot <= this.watermark) return;
    const first = this.watermark === 0 ? slot : this.watermark + 1;
    this.watermark = slot;
    let known = 0;
    for (const [at, { reported, fate, filled }] of this.#slots) {
      if (at > slot) continue;
      this.#slots.delete(at);
      if (at < first) continue;
      known++;
      if (fate === 'dead') this.#counts.dead++;
      else if (fate === 'unknown') this.#counts.unjudged++;
      else if (reported && !filled) this.#counts.seen++;
      else this.#counts.filled++;
    }
    this.#counts.skipped += slot - first + 1 - known;
  }

  #parentOf(slot: number): number | null {
    const parent = this.#slots.get(slot)?.parent ?? null;
    return parent === 'contested' ? null : parent;
  }

  #openSlots(which: (slot: number) => boolean): number[] {
    const found: number[] = [];
    for (const [slot, { fate }] of this.#slots) if (fate === 'open' && which(slot)) found.push(slot);
    return found.toSorted((a, b) => a - b);
  }

  decide(alive: readonly number[], dead: readonly number[]): Verdict {
    for (const slot of alive) {
      this.#at(slot).fate = 'alive';
      this.#dead.delete(slot);
    }
    for (const slot of dead) {
      this.#at(slot).fate = 'dead';
      this.#dead.add(slot);
      if (this.#dead.size > maxDead) this.#dead.delete(this.#dead.values().next().value!);
    }
    return { alive, dead };
  }

  #at(slot: number): Slot {
    const known = this.#slots.get(slot);
    if (known !== undefined) return known;
    const made: Slot = { parent: null, reported: false, fate: 'open', filled: false };
    this.#slots.set(slot, made);
    if (this.#slots.size > maxSlots) {
      const oldest = Math.min(...this.#slots.keys());
      this.#slots.delete(oldest);
      this.#counts.unjudged++;
    }
    return made;
  }
}
