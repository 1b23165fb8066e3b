import { isAddress } from '@sluice/shared/solana/encoding/base58.ts';
import { maxAccountBytes } from '@sluice/shared/solana/rpc/answers/limits.ts';
import { isRecord } from '@sluice/shared/solana/encoding/json-forms.ts';
import { startDeadline, type Deadline } from '@sluice/shared/runtime/abort/deadline.ts';
import { askUntilAgreed } from '@sluice/shared/solana/rpc/quorum/ask-until-agreed.ts';
import { RpcError, type Rpc, type WatchedRpc } from '@sluice/shared/solana/rpc/rpc.ts';
import type { AccountReader, AccountsRead, ChainAccount } from './account-reader.ts';
import { chooseAnswer, haveSameAccounts, lastReportedSlot, reportedAlone, reportedSlot } from './voted-accounts.ts';
import type { AccountsAnswer, ChosenAnswer } from './voted-accounts.ts';

/** Most accounts in one `getMultipleAccounts`: the limit of nodes. */
const maxAccountsACall = 100;
/** Most calls at a time. Further reads are collected for the next calls. */
const maxConcurrentCalls = 8;
/** Most calls that wait. A read that fits into none of them is refused. */
const maxWaitingCalls = 128;
/** Time for one call, over all endpoints. */
const callWithinMs = 4_000;
/** One more endpoint is asked after this long without an answer. */
const hedgeAfterMs = 60;
/** Default of `answersWithinMs`, measured from the first answer. */
const usualOthersWithinMs = 600;

export interface AccountReaderOptions {
  /** Newest slot that the chain can have reached. An answer of a later slot is false, and another endpoint is asked. */
  readonly newestSlot: () => number;
  /** Oldest usable slot. If an endpoint's answer is older, another endpoint is asked. If all answers are older, the read fails. */
  readonly oldestSlot?: () => number;
  /** How long to wait, from the request, for another answer that confirms or contradicts the first one. */
  readonly answersWithinMs?: number;
  readonly signal: AbortSignal;
}

interface Call {
  readonly addresses: Map<string, number>;
  readonly done: Promise<CallAnswer>;
  readonly settle: (answer: Promise<CallAnswer>) => void;
}

interface CallAnswer extends ChosenAnswer {
  readonly askedAtMs: number;
  readonly othersAreLate: boolean;
}

/**
 * Reads accounts over JSON-RPC. All reads of one turn of the event loop share a call, as far as they fit. They wait longer only if
 * `maxConcurrentCalls` calls are running. A read whose addresses are all in a running call uses that call's answer. With several endpoints (one
 * `Rpc` each), a majority is asked at once, and more if their answers differ. The answers are voted on.
 */
export class RpcAccountReader implements AccountReader {
  readonly counters = {
    /** Calls for accounts, calls without a usable answer, reads that shared a call, and reads that were refused. */
    calls: 0,
    failures: 0,
    shared: 0,
    refused: 0,
    /** Calls answered by one endpoint alone, and calls whose answers differed without a majority. */
    alone: 0,
    contradicted: 0,
  };
  readonly #endpoints: readonly (Rpc & Partial<WatchedRpc>)[];
  readonly #options: AccountReaderOptions;
  readonly #waiting: Call[] = [];
  readonly #running = new Set<Call>();
  /** Endpoints whose last call ended without a usable answer. */
  readonly #failing = new Set<number>();
  #isGathering = false;

  constructor(endpoints: readonly (Rpc & Partial<WatchedRpc>)[], options: AccountReaderOptions) {
    this.#endpoints = endpoints;
    this.#options = options;
  }

  async read(addresses: readonly string[]): Promise<AccountsRead> {
    if (addresses.length > maxAccountsACall) throw new RangeError(`At most ${maxAccountsACall} addresses, not ${addresses.length}.`);
    const call = this.#callFor(new Set(addresses));
    if (call === null) {
      this.counters.refused++;
      throw new RpcError('unreachable', 0, 'Too many reads wait for the RPC.');
    }
    const { answer, others, askedAtMs, othersAreLate } = await call.done;
    const places = addresses.map((address) => call.addresses.get(address)!);
    const isAlone = reportedAlone(answer, others, places);
    const atPlaces = ({ accounts }: AccountsAnswer): readonly (ChainAccount | null)[] => places.map((at) => accounts[at] ?? null);
    return {
      slot: reportedSlot(answer, others, places),
      lastSlot: lastReportedSlot(answer, others, places),
      askedAtMs,
      accounts: atPlaces(answer),
      aloneBy: isAlone ? answer.endpoint : null,
      othersAreLate: isAlone && othersAreLate,
      disputed: isAlone ? others.map((other) => ({ slot: other.slot, accounts: atPlaces(other) })) : [],
    };
  }

  #callFor(addresses: ReadonlySet<string>): Call | null {
    const shared = [...this.#running, ...this.#waiting].find((call) => [...addresses].every((address) => call.addresses.has(address)));
    if (shared !== undefined) {
      this.counters.shared++;
      return shared;
    }
    const roomy = this.#waiting.find((call) => new Set([...call.addresses.keys(), ...addresses]).size <= maxAccountsACall);
    if (roomy !== undefined) {
      for (const address of addresses) if (!roomy.addresses.has(address)) roomy.addresses.set(address, roomy.addresses.size);
      return roomy;
    }
    if (this.#waiting.length >= maxWaitingCalls) return null;
    const call = newCall(addresses);
    this.#waiting.push(call);
    if (!this.#isGathering) {
      this.#isGathering = true;
      setImmediate(() => {
        this.#isGathering = false;
        this.#drain();
      });
    }
    return call;
  }

  #drain(): void {
    while (this.#running.size < maxConcurrentCalls) {
      const call = this.#waiting.shift();
      if (call === undefined) return;
      this.#running.add(call);
      const asked = this.#ask([...call.addresses.keys()]);
      call.settle(asked);
      void asked
        .catch(() => this.counters.failures++)
        .finally(() => {
          this.#running.delete(call);
          this.#drain();
        });
    }
  }

  /** Requests at most 100 accounts, from as many endpoints as are needed to agree. Rejects with an `RpcError`. */
  async #ask(addresses: readonly string[]): Promise<CallAnswer> {
    const { answersWithinMs, signal } = this.#options;
    this.counters.calls++;
    const askedAtMs = performance.now();
    const deadline = startDeadline(callWithinMs, signal);
    const unanswered = new Set<number>();
    let fault: RpcError | null = null;
    try {
      const verdict = await askUntilAgreed<AccountsAnswer>({
        endpoints: this.#byHealth(),
        ask: async (endpoint) => {
          unanswered.add(endpoint);
          const answer = await this.#askSafely(endpoint, addresses, deadline);
          unanswered.delete(endpoint);
          if (!(answer instanceof RpcError)) return answer;
          fault = answer;
          return null;
        },
        agree: haveSameAccounts,
        hedgeAfterMs,
        othersWithinMs: answersWithinMs ?? usualOthersWithinMs,
        ...(answersWithinMs !== undefined && { answersWithinMs }),
      });
      const chosen = chooseAnswer(verdict);
      if (verdict.kind === 'contradicted') this.counters.contradicted++;
      else if (verdict.kind === 'agreed' && verdict.votes.length === 1) this.counters.alone++;
      if (chosen !== null) return { askedAtMs, othersAreLate: [...unanswered].some((endpoint) => !this.#failing.has(endpoint)), ...chosen };
    } finally {
      deadline.end();
    }
    if (deadline.passed) throw new RpcError('unreachable', 0, `No answer within ${callWithinMs} ms.`);
    throw fault ?? new RpcError('malformed', 0, 'No endpoint gave a recent answer of the documented form.');
  }

  /** Endpoints that rest after failures come last. */
  #byHealth(): readonly number[] {
    const avoided = (index: number): number => (this.#endpoints[index]!.health?.()[0]?.avoided === true ? 1 : 0);
    return this.#endpoints.map((_, index) => index).toSorted((a, b) => avoided(a) - avoided(b));
  }

  /** Null or an error if the endpoint gives no usable answer: one of the documented form that is not too old. */
  async #askSafely(endpoint: number, addresses: readonly string[], deadline: Deadline): Promise<AccountsAnswer | RpcError | null> {
    const { newestSlot, oldestSlot = () => 0 } = this.#options;
    const params = [addresses, { encoding: 'base64', commitment: 'processed', dataSlice: { offset: 0, length: maxAccountBytes } }];
    try {
      const answer = await this.#endpoints[endpoint]!.call('getMultipleAccounts', params, deadline);
      const read = readAccounts(answer, addresses.length, newestSlot());
      const isUsable = read !== null && read.slot >= oldestSlot();
      if (isUsable) this.#failing.delete(endpoint);
      else this.#failing.add(endpoint);
      return isUsable ? { endpoint, ...read } : null;
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      this.#failing.add(endpoint);
      return error;
    }
  }
}

function newCall(addresses: ReadonlySet<string>): Call {
  let settle: Call['settle'] = () => undefined;
  const done = new Promise<CallAnswer>((resolve) => (settle = resolve));
  // Every reader handles the failure itself. Without readers it must not be an unhandled rejection.
  done.catch(() => undefined);
  return { addresses: new Map([...addresses].map((address, index) => [address, index])), done, settle };
}

/** Slot in the context of an answer. Null if it has none, or one that the chain cannot have reached. */
export function readContextSlot(answer: unknown, newestSlot: number): number | null {
  const slot = isRecord(answer) && isRecord(answer['context']) ? answer['context']['slot'] : null;
  return typeof slot === 'number' && Number.isSafeInteger(slot) && slot >= 0 && slot <= newestSlot ? slot : null;
}

/** Reads one account in the RPC's form with `encoding: base64`. Null if it is not of that form. */
export function readChainAccount(account: unknown): ChainAccount | null {
  if (!isRecord(account)) return null;
  const { owner, lamports, data, executable } = account;
  if (typeof owner !== 'string' || !isAddress(owner) || typeof executable !== 'boolean') return null;
  // Balances beyond 2^53 lamports (nine million SOL) are rounded, because JSON numbers are doubles.
  if (typeof lamports !== 'number' || !Number.isInteger(lamports) || lamports < 0) return null;
  if (!Array.isArray(data) || typeof data[0] !== 'string' || data[1] !== 'base64') return null;
  return { owner, lamports: BigInt(lamports), data: Buffer.from(data[0], 'base64'), executable };
}

/** Null if anything in the answer is not of the documented form. Then no part of it is used. */
function readAccounts(answer: unknown, count: number, newestSlot: number): Omit<AccountsAnswer, 'endpoint'> | null {
  const slot = readContextSlot(answer, newestSlot);
  const value = isRecord(answer) ? answer['value'] : null;
  if (slot === null || !Array.isArray(value) || value.length !== count) return null;
  const accounts: (ChainAccount | null)[] = [];
  for (const item of value as readonly unknown[]) {
    const account = item === null ? null : readChainAccount(item);
    if (item !== null && account === null) return null;
    accounts.push(account);
  }
  return { slot, accounts };
}
