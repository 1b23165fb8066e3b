import type { TriggerCondition } from '@sluice/shared/market/trigger-condition.ts';
import type { StoredTrigger, TriggerCause } from '@sluice/gateway/store/trigger-model/trigger.ts';

/** A condition that is watched: all but that an order fills. */
export interface Watch {
  readonly id: string;
  readonly mint: string | null;
  readonly side: 'buy' | 'sell';
  readonly when: Exclude<TriggerCondition, { kind: 'filled' }>;
  readonly confirm: 'processed' | 'confirmed';
  readonly minDepthSol: number;
  readonly holdMs: number;
  readonly watermark: number | null;
  readonly publicKey: string;
  readonly armedAtMs: number;
  readonly nextAtMs: number | null;
  /** Trades of the account up to here have fired it already. */
  readonly after: NonNullable<TriggerCause['position']> | null;
}

/** The price in SOL for one token that decided, and the one at which the condition just holds; null if that depends on more than the price. */
export interface MetPrice {
  readonly op: '<=' | '>=';
  readonly priceSol: number;
  readonly boundSol: number | null;
}

/** A condition that holds. */
export interface Met {
  readonly id: string;
  readonly mint: string;
  readonly slot: number | null;
  readonly late: boolean;
  readonly cause: TriggerCause | null;
  /** Of a condition on a price. */
  readonly price: MetPrice | null;
  /** Unix microseconds of the event that decided; null if there is none. */
  readonly publishedUs: number | null;
}

/** Watches conditions. What is met waits there until it is taken or its condition stops to hold. */
export interface ConditionWatch<Taken extends Met = Met> {
  /** `full`: it is not watched, because too many are. */
  add(watch: Watch): 'added' | 'full';
  remove(id: string): void;
  /** Time passes: `nowMs` of the steady clock, `wallMs` as Unix milliseconds. */
  tick(nowMs: number, wallMs: number, solUsd: number | null): void;
  /**
   * Takes up to `limit` met conditions, the earliest first. Those that `mayTake` refuses stay met. What is taken is not watched any more, except trades of
   * an account, which may be met again.
   */
  takeMet(limit: number, mayTake: (id: string) => boolean): readonly Taken[];
  /** The firing of what was taken is stored, or it does not fire. Until then the log is read again from there after a crash. */
  stored(met: Taken): void;
  /** The average cost of a token in SOL, for conditions on profit. Null: it is unknown, or there is no position. */
  setPosition(publicKey: string, mint: string, costSol: number | null): void;
  /** For up to `limit` triggers for which that changed since it was returned: why it waits, or null. */
  reasons(limit: number): ReadonlyMap<string, string | null>;
}

/**
 * Null: its order is followed instead. `isVoted`: there are several nodes, and one of them may lie. What happened then counts when its slot is decided; a
 * price can be compared with the state of the pool.
 */
export function watchOf({ id, terms, progress, createdAtMs }: StoredTrigger, isVoted: boolean): Watch | null {
  const { order, when, minDepthSol, holdMs } = terms;
  if (when.kind === 'filled') return null;
  const confirm = isVoted && (when.kind === 'account' || when.kind === 'migration') ? 'confirmed' : terms.confirm;
  const { watermark, nextAtMs, armedAtMs, cause } = progress;
  const { mint, side, publicKey } = order;
  const moment = { watermark, publicKey, armedAtMs: armedAtMs ?? createdAtMs, nextAtMs, after: cause?.position ?? null };
  return {
    id,
    mint: mint ?? (when.kind === 'account' ? null : (cause?.mint ?? null)),
    side,
    when,
    confirm,
    minDepthSol,
    holdMs,
    ...moment,
  };
}
