import type { Plan } from '@sluice/shared/config/plans.ts';
import { streamLimits } from '@sluice/shared/wire/limits.ts';
import type { Principal } from '../../auth/principal.ts';
import { WorkBudget } from './work-budget.ts';

/** What all connections of one key hold on this gateway, so that no key takes what is there for all. */
export interface KeyUsage {
  readonly keyId: string;
  connections: number;
  /** Topics, once for each connection that follows them. */
  subscriptions: number;
  readonly work: WorkBudget;
}

/** Keys beyond which those without connections are looked through, and forgotten where they have rested. */
const restingKeys = 1_000;

const nothing = { connections: 0, subscriptions: 0 } as const;

/** Why a key may not follow so many topics more; null where it may. */
export function subscriptionsBeyond(
  plan: Plan,
  usage: KeyUsage,
  more: number,
): { readonly limit: number; readonly message: string } | null {
  const limit = plan.subscriptions;
  if (more === 0 || usage.subscriptions + more <= limit) return null;
  return { limit, message: `At most ${limit} subscriptions of one key of the plan ${plan.name}.` };
}

/** The keys that have connections. Beyond its bounds a key is refused, and the others don't notice. */
export class KeyUsages {
  readonly #usages = new Map<string, KeyUsage>();

  /** What a key has open here. */
  of(keyId: string): Pick<KeyUsage, 'connections' | 'subscriptions'> {
    return this.#usages.get(keyId) ?? nothing;
  }

  /** Whether the key has as many connections as its plan grants. */
  isFull({ keyId, plan }: Principal): boolean {
    return this.of(keyId).connections >= plan.connections;
  }

  enter(keyId: string, nowMs: number): KeyUsage {
    let usage = this.#usages.get(keyId);
    if (usage === undefined) {
      const work = new WorkBudget(streamLimits.keyWorkBurst, streamLimits.keyWorkPerSecond, nowMs);
      this.#usages.set(keyId, (usage = { keyId, connections: 0, subscriptions: 0, work }));
    }
    usage.connections++;
    return usage;
  }

  /** What a key has spent stays known until it has come back: to connect anew gives no new budget. */
  leave(usage: KeyUsage): void {
    usage.connections--;
    if (this.#usages.size <= restingKeys) return;
    const nowMs = Date.now();
    for (const [keyId, { connections, work }] of this.#usages) if (connections === 0 && work.isWhole(nowMs)) this.#usages.delete(keyId);
  }
}
