import { setTimeout as pause } from 'node:timers/promises';
import type { Rpc } from '@sluice/shared/solana/rpc.ts';
import { nowUs } from '../clock.ts';
import type { WholeTransaction } from './source.ts';

/** Transactions waiting to be fetched; beyond it the newest are refused. */
const maxQueued = 2_000;
const maxConcurrent = 8;
/** A transaction is readable once confirmed, within a second or two; one on a fork that died never is. */
const giveUpAfterMs = 30_000;
const firstPauseMs = 300;
const maxPauseMs = 3_000;

export type FetchedTransaction = WholeTransaction | { readonly kind: 'lost'; readonly reason: string };

interface Wanted {
  readonly signature: string;
  readonly slot: number;
  readonly sinceMs: number;
  readonly settle: (outcome: FetchedTransaction) => void;
}

/** Fetches whole transactions by signature; never rejects. */
export class TransactionFetcher {
  readonly #rpc: Rpc;
  readonly #signal: AbortSignal;
  readonly #giveUpAfterMs: number;
  readonly #queue: Wanted[] = [];
  #running = 0;

  constructor(rpc: Rpc, signal: AbortSignal, giveUpAfter = giveUpAfterMs) {
    this.#rpc = rpc;
    this.#signal = signal;
    this.#giveUpAfterMs = giveUpAfter;
  }

  get waiting(): number {
    return this.#queue.length + this.#running;
  }

  fetch(signature: string, slot: number): Promise<FetchedTransaction> {
    if (this.#queue.length >= maxQueued) return Promise.resolve({ kind: 'lost', reason: 'queue full' });
    return new Promise((settle) => {
      this.#queue.push({ signature, slot, sinceMs: performance.now(), settle });
      this.#drain();
    });
  }

  #drain(): void {
    while (this.#running < maxConcurrent) {
      const wanted = this.#queue.shift();
      if (wanted === undefined) return;
      this.#running++;
      void this.#load(wanted).finally(() => {
        this.#running--;
        this.#drain();
      });
    }
  }

  async #load({ signature, slot, sinceMs, settle }: Wanted): Promise<void> {
    let reason = 'not found';
    let pauseMs = firstPauseMs;
    while (!this.#signal.aborted) {
      try {
        const options = { encoding: 'json', commitment: 'confirmed', maxSupportedTransactionVersion: 1 };
        const result = await this.#rpc.call('getTransaction', [signature, options], this.#signal);
        if (result !== null) {
          settle({ signature, slot, result, commitment: 'confirmed', receivedUs: nowUs() });
          return;
        }
        reason = 'not found';
      } catch (error) {
        reason = error instanceof Error ? error.message : String(error);
      }
      if (performance.now() - sinceMs + pauseMs > this.#giveUpAfterMs) break;
      await pause(pauseMs, undefined, { ref: false });
      pauseMs = Math.min(maxPauseMs, pauseMs * 2);
    }
    settle({ kind: 'lost', reason });
  }
}
