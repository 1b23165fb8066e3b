import type { Plan } from '@sluice/shared/config/plans.ts';
import { streamLimits } from '@sluice/shared/wire/stream/limits.ts';
import { DelayedShare, type DelayedSpace } from './waiting-messages.ts';
import { WorkBudget } from './work-budget.ts';

/** What all connections of one owner use on this gateway. The owner is a key, or the network of an address without a key. */
export interface Usage {
  readonly owner: string;
  connections: number;
  /** A topic counts once for each connection that follows it. */
  subscriptions: number;
  /** Of PumpPortal's protocol: the subscriptions that are mints, and those that are accounts. */
  mints: number;
  accounts: number;
  readonly work: WorkBudget;
  readonly delayed: DelayedShare;
}

const accountTopic = 'trades:@';
const mintTopic = /^(?:trades|pools):(?!@)/;

/** Counts a topic that a connection begins (`by` 1) or ends (-1) to follow through PumpPortal's protocol. */
export function countDialectTopic(usage: Usage, topic: string, by: 1 | -1): void {
  usage.subscriptions += by;
  if (topic.startsWith(accountTopic)) usage.accounts += by;
  else if (mintTopic.test(topic)) usage.mints += by;
}

/** The limit that `more` subscriptions of a key would exceed; null if they are within its plan. */
export function exceededSubscriptions(plan: Plan, usage: Usage, more: number): { readonly limit: number; readonly message: string } | null {
  const limit = plan.subscriptions;
  if (more === 0 || usage.subscriptions + more <= limit) return null;
  return { limit, message: `At most ${limit} subscriptions of one key of the plan ${plan.name}.` };
}

/** The limit of an address that these further topics would exceed, as the text of a reply; null if they are within the limits. */
export function exceededKeyless(usage: Usage, topics: readonly string[]): string | null {
  const accounts = topics.filter((topic) => topic.startsWith(accountTopic)).length;
  const mints = topics.filter((topic) => mintTopic.test(topic)).length;
  if (mints > 0 && usage.mints + mints > streamLimits.keylessMints) {
    return `At most ${streamLimits.keylessMints} mints for one address without an API key.`;
  }
  if (accounts > 0 && usage.accounts + accounts > streamLimits.keylessAccounts) {
    return `At most ${streamLimits.keylessAccounts} accounts for one address without an API key.`;
  }
  return null;
}

export interface UsagesLimits {
  /** Bytes of messages of one owner that may wait. */
  readonly delayedBytes: number;
  /** Above this number of owners, those without connections are removed. */
  readonly maxIdle: number;
  /** A spent budget is retained even then, until it is full again. */
  readonly keepsSpent: boolean;
}

/** The usage of each owner that has connections. An owner beyond its limits is refused; others are not affected. */
export class Usages {
  readonly #usages = new Map<string, Usage>();
  readonly #space: DelayedSpace;
  readonly #limits: UsagesLimits;

  constructor(limits: UsagesLimits) {
    this.#space = { spaceBytes: streamLimits.delayedBytes, maxShareBytes: limits.delayedBytes, usedBytes: 0 };
    this.#limits = limits;
  }

  of(owner: string): Pick<Usage, 'connections' | 'subscriptions'> {
    return this.#usages.get(owner) ?? { connections: 0, subscriptions: 0 };
  }

  add(owner: string, nowMs: number): Usage {
    let usage = this.#usages.get(owner);
    if (usage === undefined) {
      const work = new WorkBudget(streamLimits.keyWorkBurst, streamLimits.keyWorkPerSecond, nowMs);
      const delayed = new DelayedShare(this.#space);
      usage = { owner, connections: 0, subscriptions: 0, mints: 0, accounts: 0, work, delayed };
      this.#usages.set(owner, usage);
    }
    usage.connections++;
    return usage;
  }

  /** Removes a connection. The spent budget is retained for a while, so that a client cannot renew it by connecting again. */
  remove(usage: Usage, nowMs: number): void {
    if (--usage.connections > 0) return;
    if (usage.work.isFull(nowMs)) this.#usages.delete(usage.owner);
    const { maxIdle, keepsSpent } = this.#limits;
    if (this.#usages.size <= maxIdle) return;
    for (const [owner, { connections, work }] of this.#usages) {
      if (connections === 0 && (!keepsSpent || work.isFull(nowMs))) this.#usages.delete(owner);
    }
  }
}
