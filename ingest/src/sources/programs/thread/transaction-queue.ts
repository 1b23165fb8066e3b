import { pause } from '@sluice/shared/runtime/abort/pause.ts';
import { readTransaction, type TransactionView } from '@sluice/shared/solana/transaction/inner-events.ts';
import { RpcError, type Rpc } from '@sluice/shared/solana/rpc/rpc.ts';

/** Requests at the same time, and transactions that wait. Above this limit, the newest are dropped. */
const maxRunning = 16;
const maxWaiting = 2_000;
/** One that waited longer is dropped: a process that starts again would not look for it. */
const maxWaitMs = 15_000;
/** A node may not have a transaction yet that another one has confirmed. */
const attempts = 5;
const attemptPauseMs = 300;

export interface TransactionJob {
  readonly signature: string;
  readonly slot: number;
  readonly receivedUs: number;
  readonly late: boolean;
  /** Programs that were named with it. */
  readonly programs: readonly string[];
}

/** Reads confirmed transactions, in the order in which they were added, a few at the same time. */
export class TransactionQueue {
  readonly #rpc: Rpc;
  readonly #signal: AbortSignal;
  readonly #onRead: (view: TransactionView, job: TransactionJob) => void;
  readonly #onLost: (job: TransactionJob) => void;
  #waiting: { readonly job: TransactionJob; readonly atMs: number }[] = [];
  #running = 0;

  constructor(
    rpc: Rpc,
    signal: AbortSignal,
    onRead: (view: TransactionView, job: TransactionJob) => void,
    onLost: (job: TransactionJob) => void,
  ) {
    this.#rpc = rpc;
    this.#signal = signal;
    this.#onRead = onRead;
    this.#onLost = onLost;
  }

  add(job: TransactionJob): void {
    if (this.#waiting.length >= maxWaiting) return this.#onLost(job);
    this.#waiting.push({ job, atMs: performance.now() });
    if (this.#running < maxRunning) void this.#run();
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    this.#running++;
    for (let next = this.#waiting.shift(); next !== undefined && !this.#signal.aborted; next = this.#waiting.shift()) {
      const { job, atMs } = next;
      const view = performance.now() - atMs > maxWaitMs ? null : await this.#read(job.signature);
      if (this.#signal.aborted) break;
      if (view === null) this.#onLost(job);
      else this.#onRead(view, job);
    }
    this.#running--;
  }

  async #read(signature: string): Promise<TransactionView | null> {
    const options = { encoding: 'json', commitment: 'confirmed', maxSupportedTransactionVersion: 1 };
    for (let attempt = 0; attempt < attempts && !this.#signal.aborted; attempt++) {
      try {
        const answer = await this.#rpc.call('getTransaction', [signature, options], this.#signal, (result) => result !== null);
        const view = answer === null ? null : readTransaction(answer);
        if (view?.kind === 'transaction' && view.signature === signature) return view;
      } catch (error) {
        if (!(error instanceof RpcError)) throw error;
      }
      await pause(attemptPauseMs, this.#signal);
    }
    return null;
  }
}
