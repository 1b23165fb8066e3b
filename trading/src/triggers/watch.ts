import type { StoredTrigger, TriggerCondition, TriggerProgress } from '@sluice/gateway/store/trigger-model/trigger.ts';

/** A condition that is watched. */
export interface Watch {
  readonly id: string;
  readonly mint: string | null;
  readonly side: 'buy' | 'sell';
  readonly when: TriggerCondition;
  readonly confirm: 'processed' | 'confirmed';
  readonly minDepthSol: number;
  readonly holdMs: number;
  readonly watermark: number | null;
  readonly publicKey: string;
  readonly armedAtMs: number;
  readonly nextAtMs: number | null;
}

/** A condition that holds. */
export interface Met {
  readonly id: string;
  readonly mint: string;
  readonly value: number | null;
  readonly slot: number | null;
  readonly late: boolean;
  readonly cause: TriggerProgress['cause'];
}

/** Watches conditions. What is met waits there until it is taken or its condition stops to hold. */
export interface ConditionWatch {
  add(watch: Watch): void;
  remove(id: string): void;
  /** Time passes: `nowMs` of the steady clock, `wallMs` as Unix milliseconds. */
  tick(nowMs: number, wallMs: number, solUsd: number | null): void;
  /**
   * Takes up to `limit` met conditions, the earliest first. Those that `mayTake` refuses stay met. What is taken is not watched any more, except trades of
   * an account, which may be met again.
   */
  takeMet(limit: number, mayTake: (id: string) => boolean): readonly Met[];
  /** For up to `limit` triggers for which that changed since it was returned: why it waits, or null. */
  reasons(limit: number): ReadonlyMap<string, string | null>;
}

export function watchOf({ id, terms, progress, updatedAtMs }: StoredTrigger): Watch {
  const { order, when, confirm, minDepthSol, holdMs } = terms;
  const { watermark, nextAtMs } = progress;
  const { mint, side, publicKey } = order;
  return { id, mint, side, when, confirm, minDepthSol, holdMs, watermark, publicKey, armedAtMs: updatedAtMs, nextAtMs };
}
