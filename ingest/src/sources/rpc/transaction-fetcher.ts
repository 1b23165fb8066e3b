import { pause } from '@sluice/shared/runtime/abort/pause.ts';
import { whenAborted } from '@sluice/shared/runtime/abort/when-aborted.ts';
import { Semaphore } from '@sluice/shared/runtime/collections/semaphore.ts';
import { RpcError, type Rpc } from '@sluice/shared/solana/rpc/rpc.ts';
import { nowUs } from '@sluice/shared/runtime/clock/now-us.ts';
import type { WholeSighting } from '../sighting.ts';
import { readWholeSighting, type Unusable } from './whole-sighting.ts';

/** Transactions that are being fetched, or wait for it; above this limit, new ones are refused. */
const maxOpen = 2_000;
/** Requests at a time. */
const maxConcurrent = 8;
/** A transaction is readable once its slot is confirmed, usually 150 ms later. One on a dead fork never is. The time begins with the confirmation. */
const giveUpAfterMs = 30_000;
/**
 * A request for a slot that no endpoint has confirmed would be in vain. It waits for the confirmation, but at most for this time: confirmations of
 * the whole chain may pause for minutes.
 */
const confirmedWithinMs = 600_000;
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
}

interface Kinded {
  readonly kind: string;
}

interface Request {
  readonly signature: string;
  readonly slot: number;
  readonly signal: AbortSignal;
  /** Passes an answer to the caller. Returns null if it was usable, otherwise the reason. */
  readonly take: (whole: WholeSighting) => string | null;
  readonly lose: (reason: string, unreachable: boolean) => void;
}

/** Fetches whole transactions by signature; never rejects. */
export class TransactionFetcher {
  readonly #rpc: Rpc;
  readonly #giveUpAfterMs: number;
  readonly #late: boolean;
  readonly #running: Semaphore;
  /** Requests that wait for the confirmation of their slot. */
  readonly #early = new Map<AbortController, number>();
  #confirmedSlot = 0;
  #open = 0;

  constructor(rpc: Rpc, options: FetcherOptions = {}) {
    this.#rpc = rpc;
    this.#giveUpAfterMs = options.giveUpAfterMs ?? giveUpAfterMs;
    this.#running = new Semaphore(options.maxConcurrent ?? maxConcurrent);
    this.#late = options.late ?? false;
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

  /** What `read` made of the first answer that it could use. All endpoints are asked until there is one, or the fetcher gives up. */
  fetch<T extends Kinded>(
    signature: string,
    slot: number,
    signal: AbortSignal,
    read: (whole: WholeSighting) => T | Unusable,
  ): Promise<Exclude<T, Unusable> | LostTransaction> {
    if (this.#open >= maxOpen) return Promise.resolve({ kind: 'lost', reason: 'queue full', unreachable: false });
    return new Promise((settle) => {
      const take = (whole: WholeSighting): string | null => {
        const reading = read(whole);
        if (isUnusable(reading)) return reading.reason;
        settle(reading as Exclude<T, Unusable>);
        return null;
      };
      const lose = (reason: string, unreachable: boolean): void => settle({ kind: 'lost', reason, unreachable });
      const request: Request = { signature, slot, signal, take, lose };
      this.#open++;
      void this.#load(request).finally(() => this.#open--);
    });
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

  async #load({ signature, slot, signal, take, lose }: Request): Promise<void> {
    const options = { encoding: 'json', commitment: 'confirmed', maxSupportedTransactionVersion: 1 };
    let reason = 'not found';
    let unreachable = false;
    let pauseMs = firstPauseMs;
    await this.#confirmation(slot, signal);
    const sinceMs = performance.now();
    while (!signal.aborted) {
      let fault: string | null = 'not found';
      try {
        const usable = (result: unknown): boolean => {
          if (result === null) return false;
          const origin = { source: 'rpc', signature, slot, commitment: 'confirmed', receivedUs: nowUs(), late: this.#late } as const;
          const sighting = readWholeSighting(result, origin);
          fault = sighting.kind === 'unusable' ? sighting.reason : take(sighting);
          return fault === null;
        };
        // Pauses between requests hold no place: one transaction that is not readable yet does not keep others waiting.
        await this.#running.run(() => this.#rpc.call('getTransaction', [signature, options], signal, usable));
        if (fault === null) return;
        reason = fault;
        unreachable = false;
      } catch (error) {
        reason = error instanceof Error ? error.message : String(error);
        unreachable = !(error instanceof RpcError && error.kind === 'answer');
      }
      if (performance.now() - sinceMs + pauseMs > this.#giveUpAfterMs) break;
      await pause(pauseMs, signal, { ref: false });
      pauseMs = Math.min(maxPauseMs, pauseMs * 2);
    }
    lose(signal.aborted ? 'no longer requested' : reason, unreachable);
  }
}

function isUnusable(reading: Kinded): reading is Unusable {
  return reading.kind === 'unusable';
}
