import { isRecord, isSlot } from '@sluice/shared/solana/encoding/json-forms.ts';
import { Ballot } from '@sluice/shared/solana/rpc/quorum/ballot.ts';
import { lowerMedian, majorityOf } from '@sluice/shared/solana/rpc/quorum/votes.ts';
import type { Rpc } from '@sluice/shared/solana/rpc/rpc.ts';

/** Most groups of accounts whose fees are known. Beyond that the least recently requested one is dropped. */
const maxFeeGroups = 512;
const refreshEveryMs = 2_000;
/** A group is dropped after this long without a request. */
const idleAfterMs = 60_000;
/** An older fee level is not used; the level of the whole chain is used instead. */
const staleAfterMs = 30_000;
/** Most groups requested at a time, each from all endpoints. */
const maxConcurrentGroups = 4;
/** Most blocks in an answer: the limit of nodes. */
const maxSlots = 150;
const maxAccounts = 128;
/** Percentile of the recent fees. */
const percentile = 75;
/** Highest level, in micro-lamports for each compute unit. For 200,000 units this is 0.004 SOL. */
const cap = 20_000_000n;

export interface FeeLevelOptions {
  /** All are asked. The median of their answers counts. */
  readonly endpoints: readonly Rpc[];
  readonly signal: AbortSignal;
  /** Whether many traders write to an account. The fees of other accounts, such as wallets, are not requested. */
  readonly isShared: (address: string) => boolean;
}

interface Group {
  readonly accounts: readonly string[];
  /** The answers of the endpoints, in micro-lamports for each compute unit. */
  readonly ballot: Ballot<bigint>;
  askedAtMs: number;
  usedAtMs: number;
}

/** Priority fees that others pay to write to the same accounts. `getRecentPrioritizationFees` is called in the background. */
export class FeeLevels {
  readonly counts = { calls: 0, failures: 0, malformed: 0, capped: 0 };
  readonly #options: FeeLevelOptions;
  readonly #groups = new Map<string, Group>();
  readonly #everywhere: Group;
  #running = 0;

  constructor(options: FeeLevelOptions) {
    this.#options = options;
    this.#everywhere = this.#newGroup([], Infinity);
  }

  /** Micro-lamports for each compute unit. 0 if nobody pays a fee, or nothing is known yet. */
  level(writableAccounts: readonly string[]): bigint {
    const group = this.#use(writableAccounts);
    const nowMs = performance.now();
    const level = this.#voted(group, nowMs) ?? this.#voted(this.#everywhere, nowMs) ?? 0n;
    if (level <= cap) return level;
    this.counts.capped++;
    return cap;
  }

  /** Requests the fees that are due. Call it several times a second. */
  check(): void {
    const nowMs = performance.now();
    for (const group of [this.#everywhere, ...this.#groups.values()]) {
      if (this.#running >= maxConcurrentGroups) return;
      if (nowMs - group.usedAtMs > idleAfterMs) this.#groups.delete(keyOf(group.accounts));
      else if (nowMs - group.askedAtMs >= refreshEveryMs) void this.#ask(group);
    }
  }

  #use(writableAccounts: readonly string[]): Group {
    const accounts = writableAccounts.filter(this.#options.isShared).slice(0, maxAccounts);
    if (accounts.length === 0) return this.#everywhere;
    const key = keyOf(accounts);
    const group = this.#groups.get(key) ?? this.#newGroup(accounts, 0);
    group.usedAtMs = performance.now();
    this.#groups.delete(key);
    this.#groups.set(key, group);
    const oldest = this.#groups.keys().next();
    if (this.#groups.size > maxFeeGroups && oldest.done !== true) this.#groups.delete(oldest.value);
    return group;
  }

  #newGroup(accounts: readonly string[], usedAtMs: number): Group {
    const { length } = this.#options.endpoints;
    const ballot = new Ballot<bigint>({ endpoints: length, maxAgeMs: staleAfterMs, agree: (one, other) => one === other });
    return { accounts, ballot, askedAtMs: -Infinity, usedAtMs };
  }

  /** The median of the endpoints' answers, the lower one of two. Null while too few have answered. */
  #voted({ ballot }: Group, nowMs: number): bigint | null {
    const votes = ballot.votes(nowMs);
    if (votes.length < majorityOf(this.#options.endpoints.length) && ballot.waiting > 0) return null;
    return lowerMedian(votes.map(({ value }) => value));
  }

  async #ask(group: Group): Promise<void> {
    this.#running++;
    group.askedAtMs = performance.now();
    await Promise.all(this.#options.endpoints.map((rpc, endpoint) => this.#askOne(group, rpc, endpoint)));
    this.#running--;
  }

  /** Never rejects. */
  async #askOne({ accounts, ballot, askedAtMs }: Group, rpc: Rpc, endpoint: number): Promise<void> {
    const { signal } = this.#options;
    this.counts.calls++;
    let fees: bigint[] | null = null;
    try {
      fees = readFees(await rpc.call('getRecentPrioritizationFees', [accounts], signal));
      if (fees === null) this.counts.malformed++;
    } catch {
      // Its last answer counts until it is stale.
      this.counts.failures++;
    }
    if (fees === null) ballot.failed(endpoint);
    else ballot.answered(endpoint, percentileOf(fees, percentile), askedAtMs);
  }
}

const keyOf = (accounts: readonly string[]): string => accounts.toSorted().join();

/** For each block, the lowest fee of a transaction that wrote to these accounts. Null if the answer is not of the documented form. */
export function readFees(answer: unknown): bigint[] | null {
  if (!Array.isArray(answer) || answer.length > maxSlots) return null;
  const fees: bigint[] = [];
  for (const item of answer as readonly unknown[]) {
    if (!isRecord(item) || !isSlot(item['slot']) || !isSlot(item['prioritizationFee'])) return null;
    fees.push(BigInt(item['prioritizationFee']));
  }
  return fees;
}

/** The fee that this percentage of the fees does not exceed; 0 if there are none. */
export function percentileOf(fees: readonly bigint[], percent: number): bigint {
  const ascending = fees.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  return ascending[Math.max(0, Math.ceil((ascending.length * percent) / 100) - 1)] ?? 0n;
}
