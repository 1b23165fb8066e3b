import type { LogPosition } from '@sluice/shared/bus/bus.ts';
import type { ConfirmedFate } from '@sluice/shared/market/verdicts/confirmed-slots.ts';
import { Recent } from '@sluice/shared/runtime/collections/recent.ts';
import type { WatchCondition } from '@sluice/shared/market/trigger-condition.ts';
import type { AccountTrade, Met, Migration, Watch } from './watch.ts';

/** A trade or migration that is older than this is `late`, and a late trade of a followed account fires no buy. */
const lateAfterMs = 30_000;
/** Events that a watch has met and that are not taken. Further ones do not count. */
const mostMet = 256;
/** Events that wait for the verdict on their slot, of all watches. Further ones do not count. */
const mostWaiting = 20_000;
/** Events that are remembered, so that none counts twice. */
const mostSeen = 20_000;
/** How long the checkpoint waits for an event whose firing is not stored. */
const pinnedForMs = 60_000;

type EventCondition = Extract<WatchCondition, { kind: 'account' | 'migration' }>;

/** A watch for trades of an account or for the migration of a mint. */
export interface EventWatch {
  readonly kind: 'event';
  watch: Watch & { readonly when: EventCondition };
  /** In log order. */
  readonly met: Met[];
  /** Later events, of slots that are not confirmed or behind such an event. Only of watches for confirmed events. */
  waiting: WaitingEvent[];
  /** As reported last. */
  reason: string | null;
}

interface WaitingEvent {
  readonly met: Met;
  readonly event: AccountTrade | Migration;
}

export interface EventContext {
  fateOf(event: AccountTrade | Migration): ConfirmedFate;
  meet(entry: EventWatch): void;
  unmeet(entry: EventWatch): void;
  /** Why an event does not count. */
  skip(entry: EventWatch, reason: string): void;
  /** Whether a position is at or after another one. False if the log does not contain that one any more. */
  isAfter(position: LogPosition, other: LogPosition): boolean;
}

/** Watches for single events. An event stays met until it is taken, unless it is retracted before. */
export class EventWatches {
  readonly #context: EventContext;
  readonly #byAccount = new Map<string, Set<EventWatch>>();
  readonly #byMint = new Map<string, Set<EventWatch>>();
  /** Watches with events that wait. */
  readonly #waiting = new Set<EventWatch>();
  #waitingCount = 0;
  /** The watches for which an event counted, by its id. */
  readonly #seen = new Recent<Set<string>>(mostSeen);
  /** The watches that have met an event and were not given it, by its id. */
  readonly #holders = new Map<string, Set<EventWatch>>();
  /** Events whose firing is not stored, in log order, and when they were noted. */
  readonly #pinned = new Map<Met, number>();

  constructor(context: EventContext) {
    this.#context = context;
  }

  hasAccount(account: string): boolean {
    return this.#byAccount.has(account);
  }

  get hasMigrations(): boolean {
    return this.#byMint.size > 0;
  }

  add(watch: Watch & { readonly when: EventCondition }): EventWatch {
    const entry: EventWatch = { kind: 'event', watch, met: [], waiting: [], reason: null };
    const [index, key] = this.#placeOf(watch);
    const all = index.get(key);
    if (all === undefined) index.set(key, new Set([entry]));
    else all.add(entry);
    return entry;
  }

  remove(entry: EventWatch): void {
    const [index, key] = this.#placeOf(entry.watch);
    const all = index.get(key);
    all?.delete(entry);
    if (all?.size === 0) index.delete(key);
    for (const met of entry.met.splice(0)) {
      this.#release(met, entry);
      this.#pinned.delete(met);
    }
    this.#wait(entry, []);
  }

  /** Takes the oldest event that the watch has met. */
  take(entry: EventWatch): Met {
    const met = entry.met.shift()!;
    this.#release(met, entry);
    return met;
  }

  note(event: AccountTrade | Migration, position: LogPosition, nowMs: number, wallMs: number): void {
    const entries = event.kind === 'trade' ? this.#byAccount.get(event.account) : this.#byMint.get(event.mint);
    if (entries === undefined || this.#context.fateOf(event) === 'drop') return;
    const seenBy = this.#seen.get(event.id) ?? new Set();
    this.#seen.set(event.id, seenBy);
    for (const entry of entries) {
      if (seenBy.has(entry.watch.id) || !this.#counts(entry, event, position)) continue;
      seenBy.add(entry.watch.id);
      this.#noteFor(entry, event, position, nowMs, wallMs);
    }
  }

  /** The event is void, unless it was taken. It may come again from another fork. */
  retract(id: string): void {
    for (const entry of this.#holders.get(id) ?? []) {
      const [met] = entry.met.splice(
        entry.met.findIndex(({ eventId }) => eventId === id),
        1,
      );
      if (entry.met.length === 0) this.#context.unmeet(entry);
      this.#forget(met!);
    }
    this.#holders.delete(id);
    for (const entry of this.#waiting) {
      if (!entry.waiting.some(({ event }) => event.id === id)) continue;
      this.#wait(
        entry,
        entry.waiting.filter(({ event }) => event.id !== id),
      );
    }
  }

  /** The fate of some slots may be known now. The events of a watch stay in log order. */
  decide(): void {
    for (const entry of this.#waiting) {
      const alive = entry.waiting.filter(({ event }) => this.#context.fateOf(event) !== 'drop');
      this.#wait(entry, alive);
      const undecided = alive.findIndex(({ event }) => this.#context.fateOf(event) === 'wait');
      const rest = undecided === -1 ? [] : alive.slice(undecided);
      const confirmed = undecided === -1 ? alive : alive.slice(0, undecided);
      entry.waiting = rest;
      this.#waitingCount -= confirmed.length;
      for (const { met } of confirmed) this.#meet(entry, met);
      if (rest.length === 0) this.#waiting.delete(entry);
    }
  }

  /** The firing that an event began is stored, or is not needed. */
  stored(met: Met): void {
    this.#pinned.delete(met);
  }

  /** The same for all events of a watch. */
  unpin(id: string): void {
    for (const met of this.#pinned.keys()) if (met.id === id) this.#pinned.delete(met);
  }

  /** The position of the oldest event whose firing is not stored; null if there is none. */
  oldestPinned(nowMs: number): LogPosition | null {
    for (const [met, notedAtMs] of this.#pinned) {
      if (nowMs - notedAtMs <= pinnedForMs) return met.position;
      this.#pinned.delete(met);
    }
    return null;
  }

  /** Whether the watch was armed for such an event, before it. */
  #counts({ watch }: EventWatch, event: AccountTrade | Migration, position: LogPosition): boolean {
    const { armedAtMs, after = null } = watch;
    if (!isMatch(watch, event) || event.receivedUs < armedAtMs * 1000) return false;
    return after === null || this.#context.isAfter(position, after);
  }

  #noteFor(entry: EventWatch, event: AccountTrade | Migration, position: LogPosition, nowMs: number, wallMs: number): void {
    const { watch } = entry;
    const late = wallMs - event.atMs > lateAfterMs;
    if (late && event.kind === 'trade' && watch.side === 'buy') return this.#context.skip(entry, 'late_trade');
    if (entry.met.length + entry.waiting.length >= mostMet || this.#waitingCount >= mostWaiting)
      return this.#context.skip(entry, 'too_many_trades');
    const met = metBy(watch.id, event, position, late);
    this.#pinned.set(met, nowMs);
    const isSure = watch.confirm === 'processed' || (entry.waiting.length === 0 && this.#context.fateOf(event) === 'pass');
    if (isSure) this.#meet(entry, met);
    else this.#wait(entry, [...entry.waiting, { met, event }]);
  }

  #meet(entry: EventWatch, met: Met): void {
    entry.met.push(met);
    const holders = this.#holders.get(met.eventId!);
    if (holders === undefined) this.#holders.set(met.eventId!, new Set([entry]));
    else holders.add(entry);
    this.#context.meet(entry);
  }

  #forget(met: Met): void {
    this.#pinned.delete(met);
    this.#seen.get(met.eventId!)?.delete(met.id);
  }

  #release(met: Met, entry: EventWatch): void {
    const id = met.eventId!;
    const holders = this.#holders.get(id);
    holders?.delete(entry);
    if (holders?.size === 0) this.#holders.delete(id);
  }

  /** Sets the events of a watch that wait, and forgets those that do not wait any more. */
  #wait(entry: EventWatch, waiting: WaitingEvent[]): void {
    for (const one of entry.waiting) if (!waiting.includes(one)) this.#forget(one.met);
    this.#waitingCount += waiting.length - entry.waiting.length;
    entry.waiting = waiting;
    if (waiting.length === 0) this.#waiting.delete(entry);
    else this.#waiting.add(entry);
  }

  #placeOf({ when, mint }: EventWatch['watch']): [index: Map<string, Set<EventWatch>>, key: string] {
    return when.kind === 'account' ? [this.#byAccount, when.account] : [this.#byMint, mint!];
  }
}

function isMatch({ mint, when }: EventWatch['watch'], event: AccountTrade | Migration): boolean {
  if (when.kind === 'migration' || event.kind === 'migration') return true;
  if (event.side !== when.side || (mint !== null && event.mint !== mint)) return false;
  return when.minSol <= 0 || (event.sizeSol !== null && event.sizeSol >= when.minSol);
}

function metBy(id: string, event: AccountTrade | Migration, position: LogPosition, late: boolean): Met {
  const { mint, slot, receivedUs, publishedUs, id: eventId } = event;
  const cause = event.kind === 'migration' ? null : { mint, eventId, baseAmount: event.baseAmount, quoteAmount: event.lamports, position };
  return { id, mint, value: null, slot, late, cause, eventId, position, receivedUs, publishedUs, price: null };
}
