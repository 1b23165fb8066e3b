import { pause } from '@sluice/shared/runtime/abort/pause.ts';
import { whenAborted } from '@sluice/shared/runtime/abort/when-aborted.ts';
import { Semaphore } from '@sluice/shared/runtime/collections/semaphore.ts';
import { askUntilAgreed } from '@sluice/shared/solana/rpc/quorum/ask-until-agreed.ts';
import { largestGroup, type Vote } from '@sluice/shared/solana/rpc/quorum/votes.ts';
import { RpcError, type Rpc, type RpcPool } from '@sluice/shared/solana/rpc/rpc.ts';
import { nowUs } from '@sluice/shared/runtime/clock/now-us.ts';
import type { WholeSighting } from '../sighting.ts';
import { readWholeSighting, type Unusable } from './whole-sighting.ts';

/** Transactions that are being fetched, or wait for it; above this limit, new ones are refused. */
const maxOpen = 2_000;
/** Requests at a time. */
const maxConcurrent = 8;
/** A transaction is readable once its slot is confirmed, usually 150 ms later. One on a dead fork never is. The time begins with the confirmation. */
const giveUpAfterMs = 30_000;
/** There are two endpoints, and the second has no usable answer after this time: the answer of the first is used. Nodes are behind by less. */
const aloneAfterMs = 2_000;
/**
 * A request for a slot that no endpoint has confirmed would be in vain. It waits for the confirmation, but at most for this time: confirmations of
 * the whole chain may pause for minutes.
 */
const confirmedWithinMs = 600_000;
/** If no answer arrives for this long, one more endpoint is asked. */
const hedgeAfterMs = 500;
/** How long to wait for the others after the first answer. */
const othersWithinMs = 1_000;
const firstPauseMs = 300;
const maxPauseMs = 3_000;

/** `unreachable`: no endpoint answered at the end, so a later request may succeed. */
export interface LostTransaction {
  readonly kind: 'lost';
  readonly reason: string;
  readonly unreachable: boolean;
}

export interface FetcherOptions {
  readonly giveUpAfterMs?: number;
  readonly maxConcurrent?: number;
  /** Its transactions fill a gap. */
  readonly late?: boolean;
  /** An endpoint answered otherwise than those that agree. */
  readonly onOutvoted?: (endpoint: number, signature: string, slot: number) => void;
}

/** What endpoints must agree on. */
const comparedFields = ['slot', 'digest', 'facts'] as const;

interface Kinded {
  readonly kind: string;
  readonly transaction?: Readonly<Record<(typeof comparedFields)[number] | 'blockTime' | 'index', unknown>>;
}

interface Request<T extends Kinded> {
  readonly signature: string;
  readonly slot: number;
  readonly signal: AbortSignal;
  readonly read: (whole: WholeSighting) => T | Unusable;
}

/** Fetches whole transactions by signature, as the endpoints agree on them; never rejects. */
export class TransactionFetcher {
  readonly #endpoints: readonly Rpc[];
  /** Their numbers. One that fails or is slow is asked after those that answered. */
  #order: readonly number[];
  /** Endpoints whose last call failed. */
  readonly #failing = new Set<number>();
  readonly #giveUpAfterMs: number;
  readonly #late: boolean;
  readonly #onOutvoted: FetcherOptions['onOutvoted'];
  readonly #running: Semaphore;
  /** Requests that wait for the confirmation of their slot. */
  readonly #early = new Map<AbortController, number>();
  #confirmedSlot = 0;
  #open = 0;

  constructor(rpc: Rpc | RpcPool, options: FetcherOptions = {}) {
    this.#endpoints = 'each' in rpc ? rpc.each : [rpc];
    this.#order = [...this.#endpoints.keys()];
    this.#giveUpAfterMs = options.giveUpAfterMs ?? giveUpAfterMs;
    this.#running = new Semaphore(options.maxConcurrent ?? maxConcurrent);
    this.#late = options.late ?? false;
    this.#onOutvoted = options.onOutvoted;
  }

  /** An endpoint has confirmed a slot. A false report only causes requests that are in vain. */
  confirmed(slot: number): void {
    if (slot <= this.#confirmedSlot) return;
    this.#confirmedSlot = slot;
    this.reached(slot);
  }

  /** The chain has confirmed this slot, although no endpoint may have notified of it. */
  reached(slot: number): void {
    for (const [early, at] of this.#early) if (at <= slot) early.abort();
  }

  /** What `read` made of the transaction. Endpoints vote on it, until they agree or the fetcher gives up. */
  async fetch<T extends Kinded>(
    signature: string,
    slot: number,
    signal: AbortSignal,
    read: (whole: WholeSighting) => T | Unusable,
  ): Promise<Exclude<T, Unusable> | LostTransaction> {
    if (this.#open >= maxOpen) return { kind: 'lost', reason: 'queue full', unreachable: false };
    this.#open++;
    const found = await this.#load({ signature, slot, signal, read });
    this.#open--;
    return found as Exclude<T, Unusable> | LostTransaction;
  }

  /** Waits until an endpoint has confirmed the slot. Does not wait if no endpoint reports confirmed slots. */
  async #confirmation(slot: number, signal: AbortSignal): Promise<void> {
    if (this.#confirmedSlot === 0 || slot <= this.#confirmedSlot) return;
    const early = new AbortController();
    const forget = whenAborted(signal, () => early.abort());
    this.#early.set(early, slot);
    await pause(confirmedWithinMs, early.signal, { ref: false });
    this.#early.delete(early);
    forget();
  }

  async #load<T extends Kinded>({ signature, slot, signal, read }: Request<T>): Promise<T | LostTransaction> {
    const options = { encoding: 'json', commitment: 'confirmed', maxSupportedTransactionVersion: 1 };
    let reason = 'not found';
    let unreachable = false;
    let answered = new Set<number>();
    const ask = async (endpoint: number): Promise<T | null> => {
      try {
        const result = await this.#endpoints[endpoint]!.call('getTransaction', [signature, options], signal);
        unreachable = false;
        answered.add(endpoint);
        this.#order = this.#order.toSorted((one, other) => Number(answered.has(other)) - Number(answered.has(one)));
        this.#failing.delete(endpoint);
        if (result === null) return null;
        const origin = { source: 'rpc', signature, slot, commitment: 'confirmed', receivedUs: nowUs(), late: this.#late } as const;
        const sighting = readWholeSighting(result, origin);
        const reading = sighting.kind === 'unusable' ? sighting : read(sighting);
        if (!isUnusable(reading)) return reading;
        ({ reason } = reading);
      } catch (error) {
        reason = error instanceof Error ? error.message : String(error);
        if (error instanceof RpcError && error.kind === 'answer') unreachable = false;
        if (!signal.aborted) this.#failing.add(endpoint);
      }
      return null;
    };
    let pauseMs = firstPauseMs;
    await this.#confirmation(slot, signal);
    const sinceMs = performance.now();
    while (!signal.aborted) {
      [reason, unreachable, answered] = ['not found', true, new Set()];
      const question = { ask, agree: isSame, hedgeAfterMs, othersWithinMs };
      // Pauses between requests hold no place: one transaction that is not readable yet does not keep others waiting.
      const verdict = await this.#running.run(() => askUntilAgreed({ ...question, endpoints: this.#order }));
      if (verdict.kind === 'agreed') {
        // An endpoint that does not have the transaction yet, or is only slow, is not down.
        const allVote = verdict.votes.length + verdict.outvoted.length >= answered.size;
        const othersAreDown = allVote && this.#order.every((one) => answered.has(one) || this.#failing.has(one));
        const mayStandAlone = this.#endpoints.length === 2 && performance.now() - sinceMs > aloneAfterMs;
        if (verdict.isMajority || othersAreDown || mayStandAlone) {
          for (const endpoint of verdict.outvoted) this.#onOutvoted?.(endpoint, signature, slot);
          return agreedValue(verdict.votes);
        }
        reason = 'too few endpoints have it';
      }
      if (verdict.kind === 'contradicted') reason = 'endpoints contradict each other about it';
      if (performance.now() - sinceMs + pauseMs > this.#giveUpAfterMs) break;
      await pause(pauseMs, signal, { ref: false });
      pauseMs = Math.min(maxPauseMs, pauseMs * 2);
    }
    return { kind: 'lost', reason: signal.aborted ? 'no longer requested' : reason, unreachable };
  }
}

/** Its time and its place in the block are what more than half of the voters state, or null. */
function agreedValue<T extends Kinded>(votes: readonly Vote<T>[]): T {
  const { value } = votes[0]!;
  const stated = (name: 'blockTime' | 'index'): unknown => {
    const group = largestGroup(votes, (one, other) => one.transaction?.[name] === other.transaction?.[name]);
    return group.length * 2 > votes.length ? group[0]!.value.transaction?.[name] : null;
  };
  const [blockTime, index] = [stated('blockTime'), stated('index')];
  if (value.transaction?.blockTime === blockTime && value.transaction?.index === index) return value;
  return { ...value, transaction: { ...value.transaction, blockTime, index } };
}

const isSame = (one: Kinded, other: Kinded): boolean =>
  one.kind === other.kind && comparedFields.every((name) => one.transaction?.[name] === other.transaction?.[name]);

function isUnusable(reading: Kinded): reading is Unusable {
  return reading.kind === 'unusable';
}
