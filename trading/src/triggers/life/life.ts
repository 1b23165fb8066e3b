import type { OrderState } from '@sluice/gateway/store/order-model/order.ts';
import { noProgress, type StoredTrigger, type TriggerChange } from '@sluice/gateway/store/trigger-model/trigger.ts';
import type { TriggerCondition } from '@sluice/shared/market/trigger-condition.ts';
import type { TriggerProgress, TriggerTerms } from '@sluice/gateway/store/trigger-model/trigger.ts';

export type TriggerError = NonNullable<StoredTrigger['error']>;

/** The fields of an order that decide about its trigger. */
export interface SeenOrder {
  readonly id: string;
  readonly state: OrderState;
  readonly fill: { readonly baseAmount: bigint } | null;
  readonly error: TriggerError | null;
}

/**
 * How a refusal counts. `spent`: it uses up a retry. `free`: the order could not be tried (halt, an upstream that does not answer), so it is
 * tried again under the same key. `final`: no retry can help.
 */
export type RefusalKind = 'spent' | 'free' | 'final';

/** What happened to a trigger. `atMs`: Unix milliseconds. */
export type TriggerEvent =
  /** Its condition holds. */
  | { readonly kind: 'met'; readonly cause: TriggerProgress['cause']; readonly late: boolean }
  /** The order of its parent has filled. `parentAmount`: its part of the tokens, raw. `cause`: what fired the parent. */
  | { readonly kind: 'parent_filled'; readonly parentAmount: string; readonly cause: TriggerProgress['cause'] }
  /** The order of its current attempt was stored or has changed. */
  | { readonly kind: 'order'; readonly order: SeenOrder }
  /** The current attempt was refused, and the store has no order of it. Of an armed trigger: its condition can never hold. */
  | { readonly kind: 'refused'; readonly error: TriggerError; readonly refusal: RefusalKind }
  /** Its time is over. The store has no order of the current attempt that can still land. */
  | { readonly kind: 'over_time' }
  /** Why its condition cannot be evaluated, or does not count yet. Null: nothing is in the way any more. */
  | { readonly kind: 'waits'; readonly reason: string | null }
  /** Another trigger of its group has fired, or its parent will never fill. The store has no order of the current attempt that can still land. */
  | { readonly kind: 'not_needed' };

/** What a trigger and its relatives do next. */
export interface LifeStep {
  readonly change: TriggerChange;
  /**
   * `watch`: its condition is watched (again). `place`: an order is placed under `attemptKey`, as soon as the change is stored. `again`: the same after
   * a pause. `follow`: nothing but what it does already. `ended`: nothing any more.
   */
  readonly next: 'watch' | 'place' | 'again' | 'follow' | 'ended';
  /** Raw tokens with which its children are armed. Null: they stay as they are, unless the trigger has ended; then they are not needed. */
  readonly armChildrenWith: bigint | null;
  /** The others of its group are not needed any more. */
  readonly endsGroup: boolean;
}

/** The progress of a trigger that is armed at `nowMs`. */
export function initialProgress({ when }: Pick<TriggerTerms, 'when'>, nowMs: number): TriggerProgress {
  const nextAtMs = when.kind === 'every' ? nowMs + when.everyMs : null;
  return { ...noProgress, armedAtMs: nowMs, nextAtMs };
}

/** The `Idempotency-Key` of the order of the current attempt. */
export function attemptKey({ id, progress: { firing, attempt } }: Pick<StoredTrigger, 'id' | 'progress'>): string {
  return `trg:${id}:${firing}:${attempt}`;
}

/** How often a trigger fires at most. */
function timesOf(when: TriggerCondition): number {
  return when.kind === 'every' || when.kind === 'account' ? when.times : 1;
}

/** What an event changes. Null: nothing, because it does not concern the state of the trigger. */
export function advance(trigger: StoredTrigger, event: TriggerEvent, atMs: number): LifeStep | null {
  switch (trigger.state) {
    case 'waiting':
    case 'armed':
      return fromRest(trigger, event, atMs);
    case 'firing':
      return fromFiring(trigger, event, atMs);
    case 'fired':
    case 'cancelled':
    case 'expired':
    case 'failed':
      return null;
  }
}

function step(
  next: LifeStep['next'],
  change: TriggerChange,
  more: Partial<Pick<LifeStep, 'armChildrenWith' | 'endsGroup'>> = {},
): LifeStep {
  return { next, change, armChildrenWith: null, endsGroup: false, ...more };
}

function ended(state: 'cancelled' | 'expired', more: TriggerChange = {}): LifeStep {
  return step('ended', { state, waitingFor: null, ...more });
}

function isOver({ terms: { expiresAtMs } }: StoredTrigger, atMs: number): boolean {
  return expiresAtMs !== null && atMs >= expiresAtMs;
}

function fromRest(trigger: StoredTrigger, event: TriggerEvent, atMs: number): LifeStep | null {
  const { state, terms, progress } = trigger;
  switch (event.kind) {
    case 'met':
      if (state !== 'armed') return null;
      if (isOver(trigger, atMs)) return ended('expired');
      return step('place', {
        state: 'firing',
        progress: { ...progress, firing: progress.firing + 1, attempt: 1, firingSinceMs: atMs, cause: event.cause ?? progress.cause },
        late: trigger.late || event.late,
        waitingFor: null,
      });
    case 'parent_filled':
      if (state !== 'waiting') return null;
      if (isOver(trigger, atMs)) return ended('expired');
      return step('watch', {
        state: 'armed',
        progress: { ...initialProgress(terms, atMs), parentAmount: event.parentAmount, cause: event.cause },
      });
    case 'over_time':
      return isOver(trigger, atMs) ? ended('expired') : null;
    case 'not_needed':
      return ended('cancelled');
    case 'refused':
      return state === 'armed' ? failed(event.error) : null;
    case 'waits':
      return state === 'armed' && trigger.waitingFor !== event.reason ? step('follow', { waitingFor: event.reason }) : null;
    case 'order':
      return null;
  }
}

function fromFiring(trigger: StoredTrigger, event: TriggerEvent, atMs: number): LifeStep | null {
  switch (event.kind) {
    case 'order':
      return afterOrder(trigger, event.order, atMs);
    case 'refused':
      return afterRefusal(trigger, event, {}, atMs);
    case 'over_time':
      return isOver(trigger, atMs) ? ended('expired') : null;
    case 'not_needed':
      return ended('cancelled');
    case 'met':
    case 'waits':
    case 'parent_filled':
      return null;
  }
}

function failed(error: TriggerError, change: TriggerChange = {}): LifeStep {
  return step('ended', { state: 'failed', error, waitingFor: null, ...change });
}

function afterOrder(trigger: StoredTrigger, { id, state, fill, error }: SeenOrder, atMs: number): LifeStep {
  const change = trigger.orderId === id ? {} : { orderId: id };
  switch (state) {
    case 'confirmed':
    case 'finalized':
      // Its children sell what it bought, so they wait until that is known.
      if (fill === null && trigger.terms.childIds.length > 0) return step('follow', { ...change, waitingFor: 'fill' });
      return filled(trigger, change, fill?.baseAmount ?? 0n, atMs);
    case 'failed':
    case 'expired':
      return afterRefusal(trigger, { error: error ?? noOrder(state), refusal: 'spent' }, change, atMs);
    case 'submitted':
    case 'processed':
    case 'unknown':
      return step('follow', change);
  }
}

function noOrder(state: 'failed' | 'expired'): TriggerError {
  return state === 'expired'
    ? { code: 'TRANSACTION_EXPIRED', message: 'The transaction expired before it was in a block.', detailsJson: '{}' }
    : { code: 'SIMULATION_FAILED', message: 'The transaction failed on the chain.', detailsJson: '{}' };
}

function filled(trigger: StoredTrigger, change: TriggerChange, baseAmount: bigint, atMs: number): LifeStep {
  const { terms, progress } = trigger;
  const more = { endsGroup: terms.ocoGroup !== null, armChildrenWith: terms.childIds.length > 0 ? baseAmount : null };
  const all = { ...change, error: null, waitingFor: null };
  const over = { ...progress, firingSinceMs: null };
  if (trigger.cancelAsked || progress.firing >= timesOf(terms.when)) return step('ended', { ...all, state: 'fired', progress: over }, more);
  const again = { ...over, attempt: 0, nextAtMs: nextAfter(terms.when, progress, atMs) };
  return step('watch', { ...all, state: 'armed', progress: again }, more);
}

/** The next time of `every`. Times that have passed meanwhile are done once, and not repeated. */
function nextAfter(when: TriggerCondition, { nextAtMs }: TriggerProgress, atMs: number): number | null {
  if (when.kind !== 'every') return null;
  const from = nextAtMs ?? atMs;
  return from + when.everyMs * Math.max(1, Math.floor((atMs - from) / when.everyMs) + 1);
}

function afterRefusal(
  trigger: StoredTrigger,
  { error, refusal }: { readonly error: TriggerError; readonly refusal: RefusalKind },
  change: TriggerChange,
  atMs: number,
): LifeStep {
  const { terms, progress } = trigger;
  const triesLeft = refusal === 'free' || (refusal === 'spent' && progress.attempt <= terms.retries);
  if (trigger.cancelAsked) return ended('cancelled', { ...change, error });
  const isInTime = atMs < (progress.firingSinceMs ?? 0) + terms.retryForMs;
  if (!triesLeft || !isInTime) return failed(error, change);
  if (isOver(trigger, atMs)) return ended('expired', { ...change, error });
  const noted = trigger.error?.code === error.code && trigger.error.message === error.message ? change : { ...change, error };
  if (refusal === 'free') return step('again', noted);
  return step('again', { ...noted, progress: { ...progress, attempt: progress.attempt + 1 } });
}
