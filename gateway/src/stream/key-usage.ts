import { streamLimits } from '@sluice/shared/wire/limits.ts';
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

/** The keys that have connections. Beyond its bounds a key is refused, and the others don't notice. */
export class KeyUsages {
  readonly #usages = new Map<string, KeyUsage>();

  /** Whether the key has as many connections as it may. */
  isFull(keyId: string): boolean {
    return (this.#usages.get(keyId)?.connections ?? 0) >= streamLimits.connectionsPerKey;
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
