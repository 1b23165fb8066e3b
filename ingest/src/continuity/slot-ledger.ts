import { majorityOf } from '@sluice/shared/solana/quorum/votes.ts';

/** Slots whose state is retained, about 14 minutes. Above this limit, the oldest is dropped, and counted if it was still open. */
const maxSlots = 4_096;
/** Dead slots that are remembered, so that later reports of them are ignored. */
const maxDead = 4_096;

/**
 * `seen`: reported live. `filled`: not reported live, or incompletely, and read from history. `skipped`: the chain has no block there.
 * `dead`: reported, and on no living branch. `open`: not known yet. All except `open` count since the start.
 */
export interface SlotCounts {
  seen: number;
  filled: number;
  skipped: number;
  dead: number;
  open: number;
  /** Dropped while open: beyond the bound, or endpoints contradict each other. */
  unjudged: number;
}

/** Slots that have been decided. */
export interface Verdict {
  /** On the living branch. */
  readonly alive: readonly number[];
  readonly dead: readonly number[];
}

/** Confirmed slots that a node lists: all from `from` on. It does not know older ones. */
export interface BlockList {
  readonly from: number;
  readonly slots: ReadonlySet<number>;
}

interface Slot {
  /** `contested`: endpoints contradict each other. */
  parent: number | 'contested' | null;
  reported: boolean;
  /** `contested`: endpoints contradict each other, none has the majority, or none knows. The slot remains as it was reported. */
  fate: 'open' | 'alive' | 'dead' | 'contested';
  filled: boolean;
}

const nothing: Verdict = { alive: [], dead: [] };

function fateBy(lists: readonly BlockList[], slot: number): 'alive' | 'dead' | 'contested' {
  const voters = lists.filter(({ from }) => from <= slot);
  const votes = voters.filter(({ slots }) => slots.has(slot)).length;
  const enough = majorityOf(voters.length);
  if (votes >= enough) return 'alive';
  return voters.length - votes >= enough ? 'dead' : 'contested';
}

/**
 * Decides the state of every slot from three inputs: the slots that sources report with their parents, the confirmed slots, and the lists of blocks
 * that nodes return if a parent is missing. A confirmed slot lives, and so do all its ancestors; slots that were reported between them are dead. Uses
 * no I/O and no clock.
 */
export class SlotLedger {
  /** The newest confirmed slot; 0 before the first. */
  confirmed = 0;
  /** The highest slot up to which everything is known to be complete; 0 before any. */
  watermark = 0;
  readonly #slots = new Map<number, Slot>();
  readonly #dead = new Set<number>();
  readonly #counts = { seen: 0, filled: 0, skipped: 0, dead: 0, unjudged: 0 };
  /** Range that the reported parents do not reach; 0 if there is none. */
  #unlinkedFrom = 0;
  #unlinkedTo = 0;

  get counts(): SlotCounts {
    return { ...this.#counts, open: this.#slots.size };
  }

  /** Slots that only a list of blocks can decide; null if there are none. */
  get unlinked(): { readonly from: number; readonly to: number } | null {
    return this.#unlinkedFrom === 0 ? null : { from: this.#unlinkedFrom, to: this.#unlinkedTo };
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
    // Slots that were confirmed meanwhile do not decide slots that another process received. A list of blocks does.
    if (watermark < this.confirmed) this.#unlink(watermark + 1, this.confirmed);
    else this.confirmed = watermark;
  }

  /**
   * What is known of some slots up to the confirmed one. The others need a list of blocks, even if an earlier list did not decide them.
   */
  recall(slots: readonly number[]): Verdict {
    const alive: number[] = [];
    const dead: number[] = [];
    for (const slot of slots) {
      if (this.#slots.get(slot)?.fate === 'alive') alive.push(slot);
      else if (this.#dead.has(slot)) dead.push(slot);
      else if (slot <= this.confirmed) {
        this.#at(slot).fate = 'open';
        this.#unlink(slot, slot);
      }
    }
    return { alive, dead };
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

  /** A slot is confirmed. */
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
    if (before === 0 || this.#parentOf(lowest) !== before) {
      // It does not lead back to the slot that was confirmed before. A list of blocks decides the slots between.
      const first = before > 0 ? before + 1 : Math.min(lowest, ...this.#slots.keys());
      if (first < lowest) this.#unlink(first, lowest - 1);
    }
    const onBranch = new Set(alive);
    const dead = this.#openSlots((other) => other < slot && !onBranch.has(other) && !this.#isUnlinked(other));
    return this.#judge(alive.toReversed(), dead);
  }

  /** The confirmed block of a slot names its parent: the parent lives, and the slots between have no block. */
  link(slot: number, parent: number): Verdict {
    if (slot <= this.watermark) return nothing;
    this.#at(slot).parent = parent;
    const dead = this.#openSlots((other) => other > parent && other < slot);
    const isOpen = parent > this.watermark && ['open', 'contested'].includes(this.#at(parent).fate);
    if (this.#unlinkedFrom > parent && this.#unlinkedTo < slot) this.#unlinkedFrom = 0;
    return this.#judge(isOpen ? [parent] : [], dead);
  }

  /** The chain has confirmed slots up to this one. A list of blocks decides those that no source reported. */
  reach(slot: number): void {
    if (slot <= this.confirmed) return;
    this.#unlink(this.confirmed > 0 ? this.confirmed + 1 : Math.min(slot, ...this.#slots.keys()), slot);
    this.confirmed = slot;
  }

  /**
   * `lists`: the confirmed slots up to `to` by several endpoints, as far back as each knows. The majority decides each slot from `from` on.
   */
  settle(from: number, to: number, lists: readonly BlockList[]): Verdict {
    const listed = new Set(lists.flatMap(({ slots }) => [...slots].filter((slot) => slot >= from && slot <= to)));
    for (const slot of listed) if (slot > this.watermark && fateBy(lists, slot) === 'alive') this.#at(slot);
    const alive: number[] = [];
    const dead: number[] = [];
    for (const slot of this.#openSlots((open) => open >= from && open <= to)) {
      const fate = fateBy(lists, slot);
      if (fate === 'alive') alive.push(slot);
      else if (fate === 'dead') dead.push(slot);
      else this.#at(slot).fate = 'contested';
    }
    if (from <= this.#unlinkedFrom) this.#unlinkedFrom = to >= this.#unlinkedTo ? 0 : Math.max(this.#unlinkedFrom, to + 1);
    return this.#judge(alive, dead);
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
      else if (fate === 'contested') this.#counts.unjudged++;
      else if (reported && !filled) this.#counts.seen++;
      else this.#counts.filled++;
    }
    this.#counts.skipped += slot - first + 1 - known;
  }

  #parentOf(slot: number): number | null {
    const parent = this.#slots.get(slot)?.parent ?? null;
    return parent === 'contested' ? null : parent;
  }

  #unlink(from: number, to: number): void {
    this.#unlinkedFrom = this.#unlinkedFrom === 0 ? from : Math.min(this.#unlinkedFrom, from);
    this.#unlinkedTo = Math.max(this.#unlinkedTo, to);
  }

  #isUnlinked(slot: number): boolean {
    return this.#unlinkedFrom !== 0 && slot >= this.#unlinkedFrom && slot <= this.#unlinkedTo;
  }

  #openSlots(which: (slot: number) => boolean): number[] {
    const found: number[] = [];
    for (const [slot, { fate }] of this.#slots) if (fate === 'open' && which(slot)) found.push(slot);
    return found.toSorted((a, b) => a - b);
  }

  #judge(alive: readonly number[], dead: readonly number[]): Verdict {
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
