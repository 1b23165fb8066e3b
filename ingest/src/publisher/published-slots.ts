import type { LogEntry } from '@sluice/shared/bus/bus.ts';
import type { SlotVerdict } from '@sluice/shared/market/slot-verdict.ts';
import { nowUs } from '../clock.ts';
import { Recent } from '@sluice/shared/collections/recent.ts';
import { readSaid } from './log-tail.ts';
import { creationIdOf, topicsOf, type Outgoing, type PublishableEvent, type Told } from './outgoing.ts';

/** Events told whose slots are not decided yet: minutes at full load. Beyond it the oldest slot is let go, and counted. */
const maxOpen = 100_000;
/** Events that wait until it is known which of two slots lives. Beyond it the newest are refused, and counted. */
const maxHeld = 10_000;
/** Events of decided slots that are remembered, beside those of the tail: none comes again that late. */
const maxSettled = 65_536;
/** Slots whose fate, or whose want of one, is remembered: half an hour. Beyond it the oldest is let go. */
const maxFates = 4_096;
/** Entries of the tail in which the slot is looked for at which it begins: slots mix a little. */
const mixedEntries = 64;

export interface StandingCounts {
  /** Left out because the log has them: the process that led before told them. */
  repeats: number;
  /** Events taken back. */
  retracted: number;
  /** Left out because their slot died, or because their transaction stands for another slot that lives. */
  outlived: number;
  /** Let go for a bound: were their slot to die, nobody would be told. */
  forgotten: number;
}

/**
 * What stands in the log, for which slot: the one place that decides what an event to be published means for those who read
 * the log, whichever process told them what is in it. Per id they get told, taken back, told, taken back …, never one of the two
 * twice; an event of a dead slot is taken back; where two processes were told of one transaction in different slots, the
 * second waits until it is known which slot lives.
 *
 * It begins with the log's tail, when a process comes to lead, and ends with that lead.
 */
export class Standing {
  readonly #counts: StandingCounts;
  /** Of the tail: what stands, whatever became of its slot. Metadata of a coin may come minutes after it was told by another process. */
  readonly #before = new Map<string, number>();
  /** Slot -> id -> topics, in the order in which they were told. */
  readonly #open = new Map<number, Map<string, readonly string[]>>();
  readonly #openSlots = new Map<string, number>();
  readonly #settled = new Recent<number>(maxSettled);
  readonly #fates = new Map<number, 'alive' | 'dead'>();
  /** Slots of which the log has something at `processed`, withdrawn or not, and no verdict: whoever reads the log waits for one. */
  readonly #undecided = new Set<number>();
  /** What no verdict names up to here counts as confirmed. */
  #decidedTo: number;
  #held: PublishableEvent[] = [];
  /** The first slot of which the tail has all: 0 where it is the whole log. */
  readonly since: number;
  readonly #completeTo: number;

  /** `isWhole`: the log has nothing older. `completeTo`: the slot up to which the log has all, and every verdict; 0 where nobody knows. */
  constructor(
    tail: readonly LogEntry[],
    isWhole: boolean,
    counts: StandingCounts = { repeats: 0, retracted: 0, outlived: 0, forgotten: 0 },
    completeTo = 0,
  ) {
    this.#counts = counts;
    this.#completeTo = this.#decidedTo = completeTo;
    let first = 0;
    for (const [index, entry] of tail.entries()) {
      const said = readSaid(entry);
      if (said?.kind === 'slots') this.#read(said.verdict);
      else if (said?.kind === 'retracted') this.#readRetraction(said.id);
      else if (said?.kind === 'told') {
        if (index < mixedEntries) first = Math.max(first, said.slot);
        this.#remove(said.id);
        this.#before.set(said.id, said.slot);
        if (said.processed && this.#fates.get(said.slot) !== 'alive') this.#openAt(said.slot, said.id, said.topics);
        if (said.processed) this.#await(said.slot);
      }
    }
    this.since = isWhole ? 0 : first + 1;
  }

  /** Slots that wait for a verdict: those of what the log has, and of what waits here. */
  get undecided(): readonly number[] {
    return [...new Set([...this.#undecided, ...this.#held.map(({ slot }) => slot)])];
  }

  /** Events of undecided slots. */
  get open(): number {
    return this.#openSlots.size;
  }

  /** Ids of what stands, with their slots; some twice. */
  *told(): Iterable<readonly [id: string, slot: number]> {
    yield* this.#before;
    yield* this.#settled.entries();
    yield* this.#openSlots;
  }

  /** What is to be put into the log for what is to be published. */
  admit(queued: readonly Outgoing[]): Told[] {
    const admitted: Told[] = [];
    for (const item of queued) {
      if (item.type === 'slots') this.#judge(item, admitted);
      else this.#admit(item, admitted);
    }
    return admitted;
  }

  /** They were admitted and did not come into the log. */
  drop(refused: readonly Told[]): void {
    for (const one of refused) if (one.type !== 'slots' && one.type !== 'retract') this.#remove(one.id);
  }

  #admit(event: PublishableEvent, into: Told[]): void {
    const { id, slot, commitment } = event;
    const isSure = commitment !== 'processed';
    const at = this.#slotOf(id);
    const topics = at === undefined ? undefined : this.#open.get(at)?.get(id);
    if (at === slot || (at === undefined && this.#standsBeforeTail(event))) this.#counts.repeats++;
    else if (!isSure && this.#fates.get(slot) === 'dead') this.#counts.outlived++;
    // The log says already that its slot is decided, and not what became of it: it would count as confirmed.
    else if (!isSure && slot <= this.#decidedTo && !this.#fates.has(slot)) this.#hold(event);
    else if (at === undefined) this.#tell(event, into);
    else if (topics === undefined) this.#counts.outlived++;
    else if (isSure || this.#fates.get(slot) === 'alive') {
      // A transaction lands once: where this one lives, the one that stands does not.
      into.push(this.#retraction(id, topics));
      this.#tell(event, into);
    } else this.#hold(event);
  }

  #hold(event: PublishableEvent): void {
    if (this.#held.length < maxHeld) this.#held.push(event);
    else this.#counts.forgotten++;
  }

  /**
   * The tail does not show it, and the log has it, or had the time to. Of a slot that is complete only what is read late is missing.
   * Metadata comes any time after the creation: unless the tail has that, the leader before may have published both.
   */
  #standsBeforeTail(event: PublishableEvent): boolean {
    if (event.slot >= this.since) return false;
    if (event.type === 'tokenMetadata') return this.#slotOf(creationIdOf(event)) === undefined;
    return event.late !== true && event.slot <= this.#completeTo;
  }

  #tell(event: PublishableEvent, into: Told[]): void {
    const { id, slot, commitment } = event;
    if (commitment === 'processed' && this.#fates.get(slot) !== 'alive') this.#openAt(slot, id, topicsOf(event));
    else this.#settled.set(id, slot);
    if (commitment === 'processed') this.#await(slot);
    into.push(event);
    for (const oldest of this.#open.keys()) {
      if (this.#openSlots.size <= maxOpen) break;
      this.#counts.forgotten += this.#open.get(oldest)!.size;
      this.#settle(oldest);
    }
  }

  #judge(news: Outgoing & SlotVerdict, into: Told[]): void {
    for (const slot of news.dead.toReversed()) {
      this.#decide(slot, 'dead');
      this.#takeBack(slot, into);
    }
    for (const slot of standingOf(news)) {
      this.#decide(slot, 'alive');
      this.#settle(slot);
    }
    into.push(news.decidedTo === undefined ? news : { ...news, decidedTo: this.#moveDecided(news.decidedTo) });
    const held = this.#held;
    this.#held = [];
    for (const event of held) this.#admit(event, into);
  }

  /** Never past a slot that waits for a verdict, whatever is said. */
  #moveDecided(to: number): number {
    const oldest = this.undecided.reduce((lowest, slot) => Math.min(lowest, slot), Number.POSITIVE_INFINITY);
    this.#decidedTo = Math.max(this.#decidedTo, Math.min(to, oldest - 1));
    return this.#decidedTo;
  }

  /** The newest first, so that what a client undoes is always the last thing that it did. */
  #takeBack(slot: number, into: Told[]): void {
    for (const [id, topics] of [...(this.#open.get(slot) ?? [])].toReversed()) into.push(this.#retraction(id, topics));
  }

  #retraction(id: string, topics: readonly string[]): Told {
    this.#remove(id);
    this.#counts.retracted++;
    return { type: 'retract', id, topics, ts: { received: nowUs(), published: 0 } };
  }

  #settle(slot: number): void {
    for (const id of this.#open.get(slot)?.keys() ?? []) {
      this.#openSlots.delete(id);
      this.#settled.set(id, slot);
    }
    this.#open.delete(slot);
  }

  #read(verdict: SlotVerdict): void {
    for (const slot of verdict.dead) this.#decide(slot, 'dead');
    for (const slot of standingOf(verdict)) {
      this.#decide(slot, 'alive');
      this.#settle(slot);
    }
  }

  /** Only what is of a dead slot is ever taken back. Those who read the log wait for the verdict all the same: they don't know its slot. */
  #readRetraction(id: string): void {
    const slot = this.#slotOf(id);
    if (slot === undefined) return;
    this.#remember(slot, 'dead');
    this.#remove(id);
  }

  #decide(slot: number, fate: 'alive' | 'dead'): void {
    this.#undecided.delete(slot);
    this.#remember(slot, fate);
  }

  #remember(slot: number, fate: 'alive' | 'dead'): void {
    this.#fates.set(slot, fate);
    if (this.#fates.size > maxFates) this.#fates.delete(this.#fates.keys().next().value!);
  }

  #await(slot: number): void {
    if (this.#fates.has(slot)) return;
    this.#undecided.add(slot);
    if (this.#undecided.size > maxFates) this.#undecided.delete(this.#undecided.values().next().value!);
  }

  #slotOf(id: string): number | undefined {
    return this.#openSlots.get(id) ?? this.#settled.peek(id) ?? this.#before.get(id);
  }

  #openAt(slot: number, id: string, topics: readonly string[]): void {
    const told = this.#open.get(slot);
    if (told === undefined) this.#open.set(slot, new Map([[id, topics]]));
    else told.set(id, topics);
    this.#openSlots.set(id, slot);
  }

  #remove(id: string): void {
    const slot = this.#openSlots.get(id);
    if (slot !== undefined) {
      const told = this.#open.get(slot)!;
      told.delete(id);
      if (told.size === 0) this.#open.delete(slot);
    }
    this.#openSlots.delete(id);
    this.#settled.delete(id);
    this.#before.delete(id);
  }
}

/** Slots whose events stand. */
function standingOf({ alive, unknown = [] }: SlotVerdict): readonly number[] {
  return [...alive, ...unknown];
}
