import { busLimits, type Bus } from '@sluice/shared/bus/bus.ts';
import type { IdsOfSlot, SlotVerdict } from '@sluice/shared/market/verdicts/slot-verdict.ts';
import { nowUs } from '@sluice/shared/runtime/clock/now-us.ts';
import { Recent } from '@sluice/shared/runtime/collections/recent.ts';
import { allTradesTopic } from '@sluice/shared/wire/stream/topics.ts';
import { readRecord, type LogRecord } from './log-tail.ts';
import { creationIdOf, isEvent, topicsOf } from './outgoing.ts';
import type { LogItem, Outgoing, LoggedEvent, SlotContents, SlotNews } from './outgoing.ts';

/** Published events of undecided slots: minutes at full load. Above this limit, the oldest slot is forgotten, and counted. */
const maxOpen = 100_000;
/** Events that wait until one of two slots is decided. Above this limit, the newest are refused, and counted. */
const maxHeld = 10_000;
/** Published events that are remembered, in addition to those of undecided slots and of the tail. None comes again later than that. */
const maxRecent = 65_536;
/** Slots whose verdict, or lack of one, is remembered: about 14 minutes. Above this limit, the oldest is forgotten. */
const maxFates = 4_096;
/** Confirmed slots whose contents are remembered, for events that come later: about 13 seconds. An event of an older slot waits until it is read again. */
const maxContents = 64;
/** Slots that are compared again with the records of nodes, because nodes record the transactions of a slot some time after they confirm it. */
export const overlapSlots = 24;
/** The first published events of the tail determine the first complete slot, because events of neighbouring slots mix. */
const mixedEvents = 64;

/** Counts of all terms of a process. */
export const noPublishedSlotsCounts = () => ({
  /** Left out because the log has them: the previous leader published them. */
  repeats: 0,
  /** Retracted events. */
  retracted: 0,
  /** Left out because their slot died, its block lacks their transaction, or the log has their transaction for another living slot. */
  outlived: 0,
  /** Forgotten for a bound: if their slot died, they would not be retracted. */
  forgotten: 0,
});
type PublishedSlotsCounts = ReturnType<typeof noPublishedSlotsCounts>;

/**
 * Stores which events the log has, and for which slot. Before an event is published, only this class decides whether the log already has
 * it, even if another process published it. For each id, publications and retractions alternate. An event of a dead slot is retracted. If
 * two processes saw one transaction in different slots, the second event waits until one of the slots is decided. It is created from the
 * log's tail when a process becomes the leader, and lives as long as that lead.
 */
export class PublishedSlots {
  readonly #counts: PublishedSlotsCounts;
  /** Events of the tail, in slots of any state: at most `busLimits.maxEntries`. Metadata of a coin may come minutes after another process published it. */
  readonly #before = new Map<string, number>();
  /** Undecided slot -> id -> topics, in the order of publication. */
  readonly #open = new Map<number, Map<string, readonly string[]>>();
  #openEvents = 0;
  /** Slots of published events. A verdict changes nothing here, so it costs the same for one event and for thousands. */
  readonly #recent = new Recent<number>(maxRecent, () => this.#openSlots());
  readonly #fates = new Map<number, 'alive' | 'dead'>();
  readonly #contents = new Map<number, SlotContents>();
  /**
   * Undecided slot -> events that were retracted before its verdict, which names them: their transaction landed in another slot, or a previous
   * leader retracted them. Bounded like the verdicts.
   */
  readonly #retractedEarly = new Map<number, string[]>();
  /** Slots that have events at `processed` in the log, retracted or not, and no verdict. Readers of the log wait for one. */
  readonly #undecided = new Set<number>();
  /** Slots up to here are treated as confirmed if no verdict names them. */
  #decidedTo: number;
  #held: LoggedEvent[] = [];
  /** The first slot that the tail has completely; 0 if the tail is the whole log, infinite if it has no event of a slot. */
  readonly since: number;
  readonly #completeTo: number;

  /** `isWhole`: the log has nothing older. `completeTo`: the slot up to which the log has all events and verdicts; 0 if it is unknown. */
  constructor(
    tail: readonly (LogRecord | null)[],
    isWhole: boolean,
    counts: PublishedSlotsCounts = noPublishedSlotsCounts(),
    completeTo = 0,
  ) {
    this.#counts = counts;
    this.#completeTo = this.#decidedTo = completeTo;
    let [first, events] = [0, 0];
    for (const record of tail) {
      if (record?.kind === 'slots') this.#read(record.verdict);
      else if (record?.kind === 'retracted') this.#readRetraction(record.id);
      else if (record?.kind === 'published') {
        if (events++ < mixedEvents) first = Math.max(first, record.slot);
        this.#remove(record.id);
        this.#before.set(record.id, record.slot);
        if (record.processed && this.#fates.get(record.slot) !== 'alive') this.#openAt(record.slot, record.id, record.topics);
        if (record.processed) this.#await(record.slot);
      }
    }
    this.since = isWhole ? 0 : events === 0 ? Number.POSITIVE_INFINITY : first + 1;
  }

  /** Slots that wait for a verdict: of events in the log, and of events that are held here. */
  get undecided(): readonly number[] {
    return [...new Set([...this.#undecided, ...this.#held.map(({ slot }) => slot)])];
  }

  /** Confirmed slots of events that wait until their block is known. */
  get heldSlots(): readonly number[] {
    return [...new Set(this.#held.flatMap(({ slot }) => (this.#fates.get(slot) === 'alive' ? [slot] : [])))];
  }

  /** Transactions with events in an undecided slot. */
  signaturesOf(slot: number): readonly string[] {
    const ids = [...(this.#open.get(slot)?.keys() ?? []), ...this.#held.flatMap((event) => (event.slot === slot ? [event.id] : []))];
    return [...new Set(ids.flatMap((id) => transactionIn(id) ?? []))];
  }

  /** Events of undecided slots. */
  get open(): number {
    return this.#openEvents;
  }

  /** Ids of the events in the log, with their slots; some appear twice. */
  *published(): Iterable<readonly [id: string, slot: number]> {
    yield* this.#before;
    yield* this.#recent.entries();
  }

  /** Turns items to be published into items for the log. */
  admit(queued: readonly Outgoing[]): LogItem[] {
    const admitted: LogItem[] = [];
    for (const item of queued) {
      if (item.type === 'pool') admitted.push(item);
      else if (item.type === 'slots') this.#judge(item, admitted);
      else this.#admit(item, admitted);
    }
    return admitted;
  }

  /** Forgets admitted items that the log did not accept. */
  drop(refused: readonly LogItem[]): void {
    for (const one of refused) if (isEvent(one)) this.#remove(one.id);
  }

  #admit(event: LoggedEvent, into: LogItem[]): void {
    const { id, slot, commitment } = event;
    const isSure = commitment !== 'processed';
    const at = this.#slotOf(id);
    const topics = at === undefined ? undefined : this.#open.get(at)?.get(id);
    if (at === slot || (at === undefined && this.#isBeforeTail(event))) this.#counts.repeats++;
    else if (!isSure && this.#fates.get(slot) === 'dead') this.#counts.outlived++;
    else if (!isSure && this.#isLacking(event)) this.#counts.outlived++;
    else if (!isSure && this.#fates.get(slot) === 'alive' && !this.#isKnown(event)) this.#hold(event);
    // The log already counts its slot as decided, without a verdict that names it: the event would be treated as confirmed.
    else if (!isSure && slot <= this.#decidedTo && !this.#fates.has(slot)) this.#hold(event);
    else if (at === undefined) this.#publish(event, into);
    else if (topics === undefined) this.#counts.outlived++;
    else if (isSure || this.#fates.get(slot) === 'alive') {
      // A transaction lands once. If it landed in this slot, the event that the log has is of a dead one.
      this.#noteRetraction(at, id);
      into.push(this.#retraction(id, topics));
      this.#publish(event, into);
    } else this.#hold(event);
  }

  #hold(event: LoggedEvent): void {
    if (this.#held.length < maxHeld) this.#held.push(event);
    else this.#counts.forgotten++;
  }

  /**
   * Whether the log had time to get an event that its tail does not show. A complete slot lacks only events that are read late. Metadata
   * may come any time after the creation: unless the tail has the creation, the previous leader may have published both.
   */
  #isBeforeTail(event: LoggedEvent): boolean {
    if (event.slot >= this.since) return false;
    if (event.type === 'tokenMetadata') return this.#slotOf(creationIdOf(event)) === undefined;
    return event.late !== true && event.slot <= this.#completeTo;
  }

  #publish(event: LoggedEvent, into: LogItem[]): void {
    const { id, slot, commitment } = event;
    this.#recent.set(id, slot);
    if (commitment === 'processed' && this.#fates.get(slot) !== 'alive') this.#openAt(slot, id, topicsOf(event));
    if (commitment === 'processed') this.#await(slot);
    into.push(event);
    for (const oldest of this.#open.keys()) {
      if (this.#openEvents <= maxOpen) break;
      this.#counts.forgotten += this.#open.get(oldest)!.size;
      this.#settle(oldest);
    }
  }

  #judge({ contents, inOrder, ...news }: SlotNews, into: LogItem[]): void {
    const retracted: IdsOfSlot[] = [];
    const reordered: IdsOfSlot[] = [];
    for (const slot of news.dead.toReversed()) {
      this.#decide(slot, 'dead');
      this.#retract(slot, into);
    }
    for (const slot of livingSlotsOf(news)) {
      this.#setContents(slot, contents?.get(slot));
      const ids = [...(this.#retractedEarly.get(slot) ?? []), ...this.#retractLacking(slot, into)];
      if (ids.length > 0) retracted.push({ slot, ids });
      const moved = inOrder?.has(slot) === true ? this.#movedIn(slot) : [];
      if (moved.length > 0) reordered.push({ slot, ids: moved });
      this.#decide(slot, 'alive');
      this.#settle(slot);
    }
    const verdict: SlotNews = { ...news, ...(retracted.length > 0 && { retracted }), ...(reordered.length > 0 && { reordered }) };
    into.push(news.decidedTo === undefined ? verdict : { ...verdict, decidedTo: this.#moveDecided(news.decidedTo) });
    const held = this.#held;
    this.#held = [];
    for (const event of held) this.#admit(event, into);
  }

  /** Never beyond a slot that waits for a verdict. */
  #moveDecided(to: number): number {
    const oldest = this.undecided.reduce((lowest, slot) => Math.min(lowest, slot), Number.POSITIVE_INFINITY);
    this.#decidedTo = Math.max(this.#decidedTo, Math.min(to, oldest - 1));
    return this.#decidedTo;
  }

  /** The newest first, so that a client always undoes its last change. */
  #retract(slot: number, into: LogItem[]): void {
    for (const [id, topics] of [...(this.#open.get(slot) ?? [])].toReversed()) into.push(this.#retraction(id, topics));
  }

  /**
   * Retracts events whose transaction the confirmed block of the slot lacks, the newest first. Then the block was of another bank, so states of
   * accounts that were reported for the slot are retracted too.
   */
  #retractLacking(slot: number, into: LogItem[]): string[] {
    const published = [...(this.#open.get(slot) ?? [])];
    const contents = this.#contents.get(slot);
    if (contents === undefined || contents === 'unread') return [];
    const lacks = (id: string): boolean => {
      const signature = transactionIn(id);
      return signature === null || !contents.has(signature);
    };
    if (!published.some(([id]) => transactionIn(id) !== null && lacks(id))) return [];
    const lacking = published.filter(([id]) => lacks(id)).toReversed();
    for (const [id, topics] of lacking) into.push(this.#retraction(id, topics));
    return lacking.map(([id]) => id);
  }

  /** The trades of each mint, in the order of the block, if the log does not have them in this order. */
  #movedIn(slot: number): string[] {
    const contents = this.#contents.get(slot);
    if (contents === undefined || contents === 'unread') return [];
    const places = new Map([...contents].map((signature, at) => [signature, at]));
    const byMint = new Map<string, { readonly id: string; readonly place: number }[]>();
    for (const [id, [first, ofMint]] of this.#open.get(slot) ?? []) {
      const place = first === allTradesTopic ? places.get(transactionIn(id) ?? '') : undefined;
      if (place === undefined) continue;
      const trades = byMint.get(ofMint!);
      if (trades === undefined) byMint.set(ofMint!, [{ id, place }]);
      else trades.push({ id, place });
    }
    return [...byMint.values()].flatMap((trades) => {
      const isMoved = trades.some(({ place }, at) => at > 0 && place < trades[at - 1]!.place);
      return isMoved ? trades.toSorted((a, b) => a.place - b.place).map(({ id }) => id) : [];
    });
  }

  /** Whether it is known that the confirmed block of the event's slot has its transaction. The creation's event proves it for metadata. */
  #isKnown(event: LoggedEvent): boolean {
    if (this.#contents.has(event.slot)) return true;
    return event.type === 'tokenMetadata' && this.#slotOf(creationIdOf(event)) === event.slot;
  }

  /** Whether the confirmed block of the event's slot is known, and lacks its transaction. */
  #isLacking({ slot, signature }: LoggedEvent): boolean {
    const contents = this.#contents.get(slot);
    return contents !== undefined && contents !== 'unread' && signature !== null && !contents.has(signature);
  }

  #setContents(slot: number, contents: SlotContents | undefined): void {
    if (contents === undefined) return;
    this.#contents.set(slot, contents);
    if (this.#contents.size > maxContents) this.#contents.delete(this.#contents.keys().next().value!);
  }

  #noteRetraction(slot: number, id: string): void {
    if (!this.#fates.has(slot) && !this.#retractedEarly.has(slot)) this.#retractedEarly.set(slot, []);
    this.#retractedEarly.get(slot)?.push(id);
    if (this.#retractedEarly.size > maxFates) this.#retractedEarly.delete(this.#retractedEarly.keys().next().value!);
  }

  #retraction(id: string, topics: readonly string[]): LogItem {
    this.#remove(id);
    this.#counts.retracted++;
    return { type: 'retract', id, topics, ts: { received: nowUs(), published: 0 } };
  }

  #settle(slot: number): void {
    this.#openEvents -= this.#open.get(slot)?.size ?? 0;
    this.#open.delete(slot);
  }

  #read(verdict: SlotVerdict): void {
    for (const slot of verdict.dead) this.#decide(slot, 'dead');
    for (const slot of livingSlotsOf(verdict)) {
      this.#decide(slot, 'alive');
      this.#settle(slot);
    }
  }

  /** The slot is dead, or its block lacks the event. Readers of the log wait for the verdict, because they do not know which. */
  #readRetraction(id: string): void {
    const slot = this.#slotOf(id);
    if (slot === undefined) return;
    this.#noteRetraction(slot, id);
    this.#remember(slot, 'dead');
    this.#remove(id);
  }

  #decide(slot: number, fate: 'alive' | 'dead'): void {
    this.#undecided.delete(slot);
    this.#retractedEarly.delete(slot);
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
    return this.#recent.peek(id) ?? this.#before.get(id);
  }

  *#openSlots(): Iterable<readonly [id: string, slot: number]> {
    for (const [slot, events] of this.#open) for (const id of events.keys()) yield [id, slot];
  }

  #openAt(slot: number, id: string, topics: readonly string[]): void {
    const events = this.#open.get(slot);
    if (events === undefined) this.#open.set(slot, new Map([[id, topics]]));
    else events.set(id, topics);
    this.#openEvents++;
  }

  #remove(id: string): void {
    const slot = this.#slotOf(id);
    if (slot === undefined) return;
    const events = this.#open.get(slot);
    if (events?.delete(id) === true) this.#openEvents--;
    if (events?.size === 0) this.#open.delete(slot);
    this.#recent.delete(id);
    this.#before.delete(id);
  }
}

/** In base58. An address, with which the id of an account change begins, has at most 44 characters. */
const minSignatureLength = 64;

/** The transaction of an event with this id; null for the change of an account. */
export function transactionIn(id: string): string | null {
  const [first] = id.split(':', 1);
  return first!.length >= minSignatureLength ? first! : null;
}

/** Slots of the living branch. */
const livingSlotsOf = ({ alive, unknown = [] }: SlotVerdict): readonly number[] => [...alive, ...unknown];

/**
 * Reads the newest `entries` of the log, and four times as many each time, until it knows everything that was published after the slot `complete`, and some
 * slots before. If `complete` is null, or the log does not reach back to it, the whole log is read.
 */
export async function readPublishedSlots(
  bus: Pick<Bus, 'readTail'>,
  entries: number,
  complete: number | null,
  counts: PublishedSlotsCounts,
): Promise<PublishedSlots> {
  for (let most = entries; ; most *= 4) {
    const maxEntries = Math.min(most, busLimits.maxEntries);
    const tail = await bus.readTail(maxEntries, readRecord);
    const contents = new PublishedSlots(tail, tail.length < maxEntries, counts, complete ?? 0);
    const isKnown = contents.since === 0 || (complete !== null && contents.since <= complete - overlapSlots + 1);
    if (isKnown || maxEntries === busLimits.maxEntries) return contents;
  }
}
