import { streamLimits } from '@sluice/shared/wire/stream/limits.ts';
import { networkOf } from '../../ratelimit/address-limit.ts';
import { DelayedShare, DelayedSpace } from './delayed-messages.ts';
import { WorkBudget } from './work-budget.ts';

/** What all connections without a key use from one address. All IPv6 clients in one /64 network count as one address. */
export interface KeylessUsage {
  readonly network: string;
  connections: number;
  /** A mint or account counts once for each connection that follows it. */
  mints: number;
  accounts: number;
  readonly work: WorkBudget;
  readonly delayed: DelayedShare;
}

/** Above this number of addresses, those without connections are removed. */
const maxIdleAddresses = 10_000;

const accountTopic = 'trades:@';
const mintTopic = 'trades:';

/** Counts a topic that a connection begins (`by` 1) or ends (-1) to follow. */
export function countKeyless(usage: KeylessUsage, topic: string, by: 1 | -1): void {
  if (topic.startsWith(accountTopic)) usage.accounts += by;
  else if (topic.startsWith(mintTopic)) usage.mints += by;
}

/** The limit that these further topics would exceed, as the text of a reply; null if they are within the limits. */
export function exceededKeyless(usage: KeylessUsage, topics: readonly string[]): string | null {
  const accounts = topics.filter((topic) => topic.startsWith(accountTopic)).length;
  const mints = topics.filter((topic) => topic.startsWith(mintTopic)).length - accounts;
  if (mints > 0 && usage.mints + mints > streamLimits.keylessMints) {
    return `At most ${streamLimits.keylessMints} mints for one address without an API key.`;
  }
  if (accounts > 0 && usage.accounts + accounts > streamLimits.keylessAccounts) {
    return `At most ${streamLimits.keylessAccounts} accounts for one address without an API key.`;
  }
  return null;
}

/** The usage of each address that has connections without a key. An address beyond its limits is refused; others are not affected. */
export class KeylessUsages {
  readonly #usages = new Map<string, KeylessUsage>();
  readonly #delayed = new DelayedSpace(streamLimits.delayedBytes, streamLimits.delayedAddressBytes);

  /** Whether the address has as many connections as it may have. */
  isFull(address: string): boolean {
    return (this.#usages.get(networkOf(address))?.connections ?? 0) >= streamLimits.keylessConnections;
  }

  /** Adds a connection of an address. */
  add(address: string, nowMs: number): KeylessUsage {
    const network = networkOf(address);
    let usage = this.#usages.get(network);
    if (usage === undefined) {
      const work = new WorkBudget(streamLimits.keyWorkBurst, streamLimits.keyWorkPerSecond, nowMs);
      this.#usages.set(
        network,
        (usage = { network, connections: 0, mints: 0, accounts: 0, work, delayed: new DelayedShare(this.#delayed) }),
      );
    }
    usage.connections++;
    return usage;
  }

  /** Removes a connection. The spent budget is retained for a while, so that a client cannot renew it by connecting again. */
  remove(usage: KeylessUsage, nowMs: number): void {
    if (--usage.connections > 0) return;
    if (usage.work.isFull(nowMs)) this.#usages.delete(usage.network);
    if (this.#usages.size <= maxIdleAddresses) return;
    for (const [network, { connections }] of this.#usages) if (connections === 0) this.#usages.delete(network);
  }
}
