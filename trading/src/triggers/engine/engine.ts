import { pause } from '@sluice/shared/runtime/abort/pause.ts';
import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import { nowUs } from '@sluice/shared/runtime/clock/now-us.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { PublishedOrder } from '@sluice/gateway/store/order-model/order.ts';
import type { TriggerTable } from '@sluice/gateway/store/sql/tables/triggers/triggers.ts';
import type { StoredTrigger } from '@sluice/gateway/store/trigger-model/trigger.ts';
import { reasonOf } from '@sluice/gateway/store/store-unavailable.ts';
import { Attempts, type AttemptParts } from '../firing/attempts.ts';
import { Firings } from '../firing/firings.ts';
import type { LifeStep, SeenOrder } from '../life/life.ts';
import { OpenTriggers, type LiveTrigger } from '../life/open-triggers.ts';
import { OrdersOfTriggers } from '../firing/orders-of-triggers.ts';
import type { PriceCheck } from '../firing/price-check.ts';
import { ProfitPositions, type CostSource } from './profit-positions.ts';
import type { TriggerStats } from '../firing/trigger-stats.ts';
import { TriggerWriter } from './trigger-writer.ts';
import { watchOf, type ConditionWatch, type Met } from '../life/watch.ts';

/** Triggers that one read of the store returns. */
const pageSize = 1_000;
/** How often time passes for conditions, retries and expiry. */
const tickEveryMs = 20;
/** Triggers whose expiry is checked at each tick: all of them about every second. */
const leastExpiryChecks = 100;
const expiryRounds = 50;
/** Ticks between two looks at what can wait. */
const lookEveryTicks = 25;
/** Reasons that one look stores. */
const maxReasons = 100;
/** While this many changes wait for the store, none is added that can wait. */
const busyAt = 200;
/** How long triggers are looked for whose insert was not answered. Their number is bounded. */
const lookForMs = 60_000;
const maxUnsure = 1_000;
/** How long a price must hold again after nodes did not agree about it: doubled each time. */
const leastUnconfirmedMs = 250;
const mostUnconfirmedMs = 5_000;
/** Pause after a failure of the store or of the log. */
const againMs = 500;

/** Watches conditions during one term. */
export interface TermWatch extends ConditionWatch {
  close(): Promise<void>;
}

export interface EngineParts extends AttemptParts {
  readonly table: TriggerTable;
  readonly paper: boolean;
  /** Whether this process has the trading role at this moment. False while Redis does not answer. */
  readonly holdsRole: () => boolean;
  /** Begins to watch conditions in this term; calls `onMet` when some may be met. */
  readonly openWatch: (term: number, onMet: () => void) => TermWatch;
  readonly solUsd: () => number | null;
  readonly positions: CostSource;
  /** Compares the price that met a condition with what nodes agree on. With a single node: null. */
  readonly prices: Pick<PriceCheck, 'isTrue'> | null;
  /** Resolves with the genesis hash of the nodes' chain as soon as it is known; null if `signal` fires before. */
  readonly chain: (signal: AbortSignal) => Promise<string | null>;
  readonly publish: (trigger: StoredTrigger) => void;
  readonly stats: TriggerStats;
  readonly clock: Clock;
  readonly log: Logger;
}

/** What exists while a term of this process is open. */
interface Term {
  readonly number: number;
  readonly writer: TriggerWriter;
  readonly watch: TermWatch;
  readonly stopTicks: () => void;
}

/**
 * Runs the triggers of one mode (paper or live) while this gateway holds the trading role: it watches their conditions, stores that one fires before its
 * order is placed, and follows the order to its end. If another process opens a term, nothing is placed any more.
 */
export class TriggerEngine {
  readonly #parts: EngineParts;
  readonly #life = new AbortController();
  readonly #open = new OpenTriggers();
  readonly #attempts: Attempts;
  readonly #firings: Firings;
  readonly #orders: OrdersOfTriggers;
  readonly #profits: ProfitPositions;
  /** Those that are met, and whose group has an order on its way. */
  readonly #blocked = new Set<LiveTrigger>();
  /** Triggers that may be in the store, with the time until which they are looked for. */
  readonly #unsure = new Map<string, number>();
  #term: Term | null = null;
  #expiring: Iterator<LiveTrigger> | null = null;
  #ticks = 0;
  readonly #running: Promise<void>;

  constructor(parts: EngineParts) {
    const { orders, nowMs, log } = parts;
    this.#parts = parts;
    const note: TriggerWriter['note'] = (...what) => this.#term?.writer.note(...what);
    this.#attempts = new Attempts(parts);
    this.#profits = new ProfitPositions(parts.positions, () => this.#term?.watch ?? null);
    this.#orders = new OrdersOfTriggers({ orders, open: this.#open, note, onFilled: () => this.#pump(), nowMs, log });
    this.#firings = new Firings({
      ...parts,
      attempts: this.#attempts,
      open: this.#open,
      mayPlace: () => !this.#isStopped && parts.holdsRole(),
      note,
      onOrder: (live, order) => this.#orders.follow(live, order),
      onFree: () => this.#pump(),
    });
    this.#running = this.#begin();
  }

  /** Triggers that have not ended. */
  get size(): number {
    return this.#open.size;
  }

  /** The term in which triggers can be armed and cancelled. Null: the engine does not run. */
  get term(): number | null {
    return this.#isStopped ? null : (this.#term?.number ?? null);
  }

  /** Takes up triggers that were just stored or cancelled. */
  take(triggers: readonly StoredTrigger[]): void {
    for (const trigger of triggers) {
      const live = this.#open.adopt(trigger);
      this.#parts.publish(trigger);
      if (live !== null) this.#resume(live);
    }
    this.#pump();
  }

  /** The store did not answer whether it has these triggers, so they are looked for until it does. */
  lookFor(ids: readonly string[]): void {
    const untilMs = this.#parts.clock.steadyMs() + lookForMs;
    for (const id of ids) if (this.#unsure.size < maxUnsure) this.#unsure.set(id, untilMs);
  }

  /** An order was stored or has changed. */
  noteOrder(order: Pick<PublishedOrder, 'id' | 'state' | 'fill' | 'error'>): void {
    this.#orders.note(order);
  }

  /** Resolves when nothing is placed or written any more. Orders that are on their way are followed by the next engine. */
  async close(): Promise<void> {
    this.#life.abort();
    this.#term?.stopTicks();
    this.#profits.close();
    await this.#running;
    await this.#firings.idle();
    await this.#term?.writer.idle();
    await this.#term?.watch.close();
  }

  get #isStopped(): boolean {
    return this.#life.signal.aborted;
  }

  async #begin(): Promise<void> {
    const { signal } = this.#life;
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        return await this.#openTerm();
      } catch (error) {
        if (failures === 0) this.#parts.log.warn({ reason: reasonOf(error) }, 'triggers_not_loaded');
        await pause(againMs, signal);
      }
    }
  }

  /** Loads everything before the first order is placed: which trigger of a group has an order must be known. */
  async #openTerm(): Promise<void> {
    const { table, paper, openWatch, clock, log } = this.#parts;
    const startedMs = clock.steadyMs();
    const genesisHash = await this.#parts.chain(this.#life.signal);
    if (genesisHash === null) return;
    const number = await table.openTerm(paper);
    this.#attempts.term = number;
    const loaded: StoredTrigger[] = [];
    for (let after: string | null = null; ;) {
      const page: readonly StoredTrigger[] = await table.open(paper, after, pageSize);
      // Those of another chain wait until the nodes are on it again.
      loaded.push(...page.filter((trigger) => trigger.genesisHash === genesisHash));
      after = page.at(-1)?.id ?? null;
      if (page.length < pageSize || this.#isStopped) break;
    }
    const orders = new Map<string, SeenOrder | null>();
    for (const trigger of loaded) if (trigger.state === 'firing') orders.set(trigger.id, await this.#attempts.stored(trigger));
    const watch = openWatch(number, () => this.#pump());
    if (this.#isStopped) return watch.close();
    this.#term = { number, writer: this.#writer(number), watch, stopTicks: clock.every(tickEveryMs, () => this.#tick(), { ref: false }) };
    const lives = loaded.flatMap((trigger) => this.#open.adopt(trigger) ?? []);
    for (const live of lives) if ((orders.get(live.trigger.id) ?? null) !== null) this.#open.hold(live.trigger);
    for (const live of lives) this.#resume(live, orders.get(live.trigger.id));
    const tookMs = Math.round(clock.steadyMs() - startedMs);
    log.info({ term: number, triggers: lives.length, firing: orders.size, tookMs }, 'triggers_loaded');
    this.#pump();
  }

  #writer(term: number): TriggerWriter {
    const { table, nowMs, publish, log } = this.#parts;
    return new TriggerWriter({
      table,
      term,
      open: this.#open,
      nowMs,
      publish,
      onStored: (live, step) => this.#onStored(live, step),
      onFound: (live) => this.#resume(live),
      onFenced: () => this.#fenced(),
      log,
      signal: this.#life.signal,
    });
  }

  #fenced(): void {
    this.#parts.log.warn({ term: this.#term?.number }, 'triggers_fenced');
    this.#life.abort();
    this.#term?.stopTicks();
  }

  /** Continues where the stored state says. `order`: the order of the current attempt, if it was looked up. */
  #resume(live: LiveTrigger, order: SeenOrder | null = null): void {
    switch (live.trigger.state) {
      case 'waiting':
        return;
      case 'armed':
        return this.#watch(live, true);
      case 'firing':
        return order === null ? this.#firings.plan(live, 0) : this.#orders.follow(live, order);
      case 'fired':
      case 'cancelled':
      case 'expired':
      case 'failed':
        return this.#forget(live);
    }
  }

  #forget(live: LiveTrigger): void {
    this.#term?.watch.remove(live.trigger.id);
    this.#profits.remove(live);
    this.#firings.abandon(live);
    this.#orders.forget(live);
    this.#blocked.delete(live);
    this.#open.forget(live);
  }

  #watch(live: LiveTrigger, isNew: boolean): void {
    const { when } = live.trigger.terms;
    live.metAtMs = null;
    this.#firings.abandon(live);
    if (when.kind === 'filled') return this.#orders.await(live, when.orderId);
    // Trades of an account are watched all the time.
    if (!isNew && when.kind === 'account') return;
    const watch = watchOf(live.trigger, this.#parts.prices !== null);
    // A price on which nodes do not agree is not looked at all the time.
    const leastMs = live.unconfirmed === 0 ? 0 : Math.min(mostUnconfirmedMs, leastUnconfirmedMs * 2 ** (live.unconfirmed - 1));
    const added = watch === null ? null : this.#term?.watch.add(watch.holdMs < leastMs ? { ...watch, holdMs: leastMs } : watch);
    if (added === 'full') this.#term?.writer.note(live, { kind: 'waits', reason: 'too_many_watched' });
    if (when.kind === 'profit') this.#profits.add(live);
  }

  #onStored(live: LiveTrigger, { next, change }: LifeStep): void {
    this.#parts.stats.changed(change);
    if (change.state !== undefined) this.#taken(live);
    switch (next) {
      case 'place':
        return this.#firings.add(live);
      case 'again':
        if (change.progress !== undefined) this.#orders.leave(live);
        return this.#firings.planAfterRefusal(live, change.progress !== undefined);
      case 'watch':
        this.#orders.leave(live);
        this.#watch(live, live.trigger.progress.firing === 0);
        return this.#pump();
      case 'ended':
        this.#forget(live);
        return this.#pump();
      case 'follow':
        return;
    }
  }

  #pump(): void {
    const term = this.#term;
    if (term === null || this.#isStopped || !this.#parts.holdsRole()) return;
    for (const met of term.watch.takeMet(Infinity, (id) => this.#mayTake(id))) {
      const live = this.#open.get(met.id);
      if (live !== undefined) this.#fire(live, met);
    }
    for (const live of this.#orders.filled) {
      if (!this.#firings.mayBegin(live)) continue;
      this.#orders.filled.delete(live);
      this.#fire(live, null);
    }
    for (const live of this.#open.withQueue) {
      if (live.trigger.state !== 'armed' || live.metAtMs !== null || !this.#firings.mayBegin(live)) continue;
      const next = this.#open.unqueue(live);
      if (next !== undefined) this.#fire(live, next);
    }
    this.#firings.placeNext();
  }

  /** Begins the firing at once, because others are asked about before it is taken. */
  #mayTake(id: string): boolean {
    const live = this.#open.get(id);
    if (live === undefined || live.trigger.state === 'firing' || live.metAtMs !== null) return true;
    if (!this.#open.mayHold(live.trigger)) this.#blocked.add(live);
    if (!this.#firings.mayBegin(live)) return false;
    this.#firings.begin(live);
    return true;
  }

  /** `met`: null if its order has filled. */
  #fire(live: LiveTrigger, met: Met | null): void {
    if (live.trigger.state !== 'armed' || live.metAtMs !== null) {
      if (met !== null && !this.#open.queue(live, met)) this.#term?.watch.stored(met);
      return;
    }
    const publishedUs = live.trigger.terms.holdMs === 0 ? (met?.publishedUs ?? null) : null;
    const sinceMs = publishedUs === null ? 0 : Math.max(0, (nowUs() - publishedUs) / 1_000);
    live.met = met;
    live.metAtMs = this.#parts.clock.steadyMs() - sinceMs;
    this.#firings.begin(live);
    const { prices } = this.#parts;
    // Prices of confirmed slots are decided by a vote already.
    if (prices === null || met === null || met.price === null || live.trigger.terms.confirm === 'confirmed')
      return this.#storeMet(live, met);
    const isTrue = prices.isTrue(met);
    if (isTrue === true) this.#storeMet(live, met);
    else void this.#confirm(live, met, isTrue);
  }

  /** It may have been cancelled while nodes were asked. */
  async #confirm(live: LiveTrigger, met: Met, isTrue: boolean | Promise<boolean>): Promise<void> {
    const isConfirmed = await isTrue;
    if (live.met !== met || live.trigger.state !== 'armed' || this.#isStopped) return;
    if (isConfirmed) return this.#storeMet(live, met);
    live.unconfirmed++;
    this.#taken(live);
    this.#term?.writer.note(live, { kind: 'waits', reason: 'price_unconfirmed' });
    this.#watch(live, true);
    this.#pump();
  }

  #storeMet(live: LiveTrigger, met: Met | null): void {
    live.unconfirmed = 0;
    this.#term?.writer.note(live, { kind: 'met', cause: met?.cause ?? null, late: met?.late ?? false }, () => {
      this.#taken(live);
      live.metAtMs = null;
      if (live.trigger.state !== 'firing') this.#firings.abandon(live);
    });
  }

  #taken(live: LiveTrigger): void {
    if (live.met !== null) this.#term?.watch.stored(live.met);
    live.met = null;
  }

  #tick(): void {
    const term = this.#term;
    if (term === null || this.#isStopped) return;
    const { clock, nowMs, solUsd } = this.#parts;
    term.watch.tick(clock.steadyMs(), nowMs(), solUsd());
    this.#firings.tryAgain();
    if (term.writer.queued < busyAt) {
      this.#expire(term.writer);
      if (++this.#ticks % lookEveryTicks === 0) this.#look(term);
    }
    this.#pump();
  }

  #expire(writer: TriggerWriter): void {
    const atMs = this.#parts.nowMs();
    for (let left = Math.max(leastExpiryChecks, Math.ceil(this.#open.size / expiryRounds)); left > 0; left--) {
      this.#expiring ??= this.#open[Symbol.iterator]();
      const { value: live, done } = this.#expiring.next();
      if (done === true) {
        this.#expiring = null;
        return;
      }
      const { state, terms } = live.trigger;
      if (state !== 'firing' && live.metAtMs === null && terms.expiresAtMs !== null && terms.expiresAtMs <= atMs)
        writer.note(live, { kind: 'over_time' });
    }
  }

  async #lookForUnsure(): Promise<void> {
    const { table, clock, log } = this.#parts;
    try {
      for (const [id, untilMs] of this.#unsure) {
        const stored = await table.byId(id);
        if (stored === null && clock.steadyMs() < untilMs) continue;
        this.#unsure.delete(id);
        if (stored !== null && !this.#isStopped && this.#open.get(id) === undefined) this.take([stored]);
      }
    } catch (error) {
      log.warn({ reason: reasonOf(error) }, 'triggers_unread');
    }
  }

  /** Stores why triggers wait, and reads orders whose changes may have been missed. */
  #look({ watch, writer }: Term): void {
    for (const live of this.#blocked) {
      const isFree = this.#open.mayHold(live.trigger);
      writer.note(live, { kind: 'waits', reason: isFree ? null : 'oco_sibling_firing' });
      if (isFree) this.#blocked.delete(live);
    }
    for (const [id, reason] of watch.reasons(maxReasons)) {
      const live = this.#open.get(id);
      if (live !== undefined) writer.note(live, { kind: 'waits', reason });
    }
    this.#profits.look();
    this.#orders.look((live) => this.#firings.isPlanned(live));
    if (this.#unsure.size > 0) void this.#lookForUnsure();
  }
}
