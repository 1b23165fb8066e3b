import type { Plan } from '@sluice/shared/config/plans.ts';
import { streamLimits } from '@sluice/shared/wire/stream/limits.ts';
import type { Principal } from '../../auth/principal.ts';
import { DelayedShare, DelayedSpace } from './delayed-messages.ts';
import { WorkBudget } from './work-budget.ts';

/** What all connections of one key use on this gateway. */
export interface KeyUsage {
  readonly keyId: string;
  connections: number;
  /** A topic counts once for each connection that follows it. */
  subscriptions: number;
  readonly work: WorkBudget;
  readonly delayed: DelayedShare;
}

/** Above this number of keys, those without connections are removed once their budget is full again. */
const maxIdleKeys = 1_000;

const noUsage = { connections: 0, subscriptions: 0 } as const;

/** The limit that `more` subscriptions of a key would exceed; null if they are within its plan. */
export function exceededSubscriptions(
  plan: Plan,
  usage: KeyUsage,
  more: number,
): { readonly limit: number; readonly message: string } | null {
  const limit = plan.subscriptions;
  if (more === 0 || usage.subscriptions + more <= limit) return null;
  return { limit, message: `At most ${limit} subscriptions of one key of the plan ${plan.name}.` };
}

/** The usage of each key that has connections. A key beyond its limits is refused; other keys are not affected. */
export class KeyUsages {
  readonly #usages = new Map<string, KeyUsage>();
  readonly #delayed = new DelayedSpace(streamLimits.delayedBytes, streamLimits.delayedKeyBytes);

  of(keyId: string): Pick<KeyUsage, 'connections' | 'subscriptions'> {
    return this.#usages.get(keyId) ?? noUsage;
  }

  /** Whether the key has as many connections as its plan allows. */
  isFull({ keyId, plan }: Principal): boolean {
    return this.of(keyId).connections >= plan.connections;
  }

  /** Adds a connection of a key. */
  add(keyId: string, nowMs: number): KeyUsage {
    let usage = this.#usages.get(keyId);
    if (usage === undefined) {
      const work = new WorkBudget(streamLimits.keyWorkBurst, streamLimits.keyWorkPerSecond, nowMs);
      this.#usages.set(keyId, (usage = { keyId, connections: 0, subscriptions: 0, work, delayed: new DelayedShare(this.#delayed) }));
    }
    usage.connections++;
    return usage;
  }

  /** Removes a connection of a key. The spent budget is retained, so that a client cannot renew it by connecting again. */
  remove(usage: KeyUsage, nowMs: number): void {
    usage.connections--;
    if (this.#usages.size <= maxIdleKeys) return;
    for (const [keyId, { connections, work }] of this.#usages) if (connections === 0 && work.isFull(nowMs)) this.#usages.delete(keyId);
  }
}
