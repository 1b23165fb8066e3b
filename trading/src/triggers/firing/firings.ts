import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { Owner } from '@sluice/gateway/store/order-model/order.ts';
import { reasonOf } from '@sluice/gateway/store/store-unavailable.ts';
import type { Attempts } from './attempts.ts';
import type { SeenOrder, TriggerEvent } from '../life/life.ts';
import type { LiveTrigger, OpenTriggers } from '../life/open-triggers.ts';
import type { TriggerStats } from './trigger-stats.ts';
import { TurnsOfOwners } from './turns-of-owners.ts';

/** Pause before the next attempt: doubled with each one. */
const firstPauseMs = 250;
const maxPauseMs = 4_000;
/** Pause after a failure of the store. */
const storePauseMs = 500;

export interface FiringsOptions {
  readonly attempts: Attempts;
  readonly open: OpenTriggers;
  /** Whether orders may be placed at this moment. */
  readonly mayPlace: () => boolean;
  readonly note: (live: LiveTrigger, event: TriggerEvent) => void;
  readonly onOrder: (live: LiveTrigger, order: SeenOrder) => void;
  /** A place is free again. */
  readonly onFree: () => void;
  readonly stats: Pick<TriggerStats, 'sent'>;
  readonly nowMs: () => number;
  readonly clock: Pick<Clock, 'steadyMs'>;
  readonly log: Pick<Logger, 'warn'>;
}

interface Turn {
  readonly owner: Owner;
  readonly live: LiveTrigger;
}

/** The orders of triggers that fire: whose is placed next, and when an attempt is repeated. */
export class Firings {
  readonly #options: FiringsOptions;
  readonly #turns = new TurnsOfOwners<Turn>();
  /** Counted in `turns`. */
  readonly #begun = new Set<LiveTrigger>();
  readonly #placing = new Map<LiveTrigger, Promise<void>>();
  /** Those whose next attempt is planned. */
  readonly #again = new Set<LiveTrigger>();

  constructor(options: FiringsOptions) {
    this.#options = options;
  }

  /** Whether the trigger may begin to fire now; false if another one of its group or of its owner has its turn. */
  mayBegin({ trigger }: LiveTrigger): boolean {
    return this.#options.open.mayHold(trigger) && this.#turns.mayBegin(trigger);
  }

  /** The trigger begins to fire. Its group waits for it from now on. */
  begin(live: LiveTrigger): void {
    this.#options.open.hold(live.trigger);
    if (this.#begun.has(live)) return;
    this.#begun.add(live);
    this.#turns.begin(live.trigger);
  }

  /** That it fires is stored, so its order may be placed. */
  add(live: LiveTrigger): void {
    this.begin(live);
    this.#turns.add({ owner: live.trigger, live });
    this.placeNext();
  }

  /** It does not fire, or has ended. */
  abandon(live: LiveTrigger): void {
    this.#again.delete(live);
    this.#options.open.release(live.trigger);
    this.#uncount(live);
  }

  /** Its next attempt begins after `ms`, or when its group lets it. */
  plan(live: LiveTrigger, ms: number): void {
    live.againAtMs = this.#options.clock.steadyMs() + ms;
    this.#again.add(live);
  }

  /** A refusal is stored. `isSpent`: the next attempt is a new one, so the last one has no order, and another trigger of the group may go first. */
  planAfterRefusal(live: LiveTrigger, isSpent: boolean): void {
    if (!isSpent) return this.plan(live, live.notBeforeMs - this.#options.clock.steadyMs());
    this.#options.open.release(live.trigger);
    this.plan(live, Math.min(maxPauseMs, firstPauseMs * 2 ** Math.max(0, live.trigger.progress.attempt - 2)));
  }

  isPlanned(live: LiveTrigger): boolean {
    return this.#again.has(live) || this.#placing.has(live);
  }

  /** Begins the attempts that are due. */
  tryAgain(): void {
    const nowMs = this.#options.clock.steadyMs();
    for (const live of this.#again) {
      if (nowMs < live.againAtMs || this.#placing.has(live) || !this.#options.open.mayHold(live.trigger)) continue;
      this.#again.delete(live);
      this.add(live);
    }
  }

  placeNext(): void {
    while (this.#options.mayPlace()) {
      const turn = this.#turns.next();
      if (turn === null) return;
      const { live } = turn;
      const placing = this.#place(live).finally(() => {
        this.#placing.delete(live);
        this.#turns.done(turn);
        this.#uncount(live);
        this.#options.onFree();
      });
      this.#placing.set(live, placing);
    }
  }

  /** Resolves when no order is being placed. */
  async idle(): Promise<void> {
    await Promise.all(this.#placing.values());
  }

  #uncount(live: LiveTrigger): void {
    if (this.#begun.delete(live)) this.#turns.end(live.trigger);
  }

  async #place(live: LiveTrigger): Promise<void> {
    const { attempts, open, note, onOrder, stats, nowMs, clock } = this.#options;
    const { trigger } = live;
    if (open.get(trigger.id) !== live || trigger.state !== 'firing') return;
    const { expiresAtMs } = trigger.terms;
    if (trigger.cancelAsked) return this.#end(live, 'not_needed');
    if (expiresAtMs !== null && nowMs() >= expiresAtMs) return this.#end(live, 'over_time');
    const outcome = await attempts.run(trigger);
    switch (outcome.kind) {
      case 'order':
        if (live.metAtMs !== null) stats.sent(clock.steadyMs() - live.metAtMs);
        live.metAtMs = null;
        return onOrder(live, outcome.order);
      case 'refused':
        live.notBeforeMs = clock.steadyMs() + outcome.afterSeconds * 1_000;
        return note(live, { kind: 'refused', error: outcome.error, refusal: outcome.refusal });
      case 'unanswered':
        return this.plan(live, storePauseMs);
    }
  }

  /** Ends a firing without another attempt, unless the last one has left an order. */
  async #end(live: LiveTrigger, kind: 'over_time' | 'not_needed'): Promise<void> {
    try {
      const order = await this.#options.attempts.stored(live.trigger);
      if (order === null) this.#options.note(live, { kind });
      else this.#options.onOrder(live, order);
    } catch (error) {
      this.#options.log.warn({ reason: reasonOf(error) }, 'trigger_order_unread');
      this.plan(live, storePauseMs);
    }
  }
}
