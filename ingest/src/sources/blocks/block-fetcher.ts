import type { Abortable } from '@sluice/shared/runtime/abort/when-aborted.ts';
import { Semaphore } from '@sluice/shared/runtime/collections/semaphore.ts';
import { signatureInBlock } from '@sluice/shared/solana/rpc/answers/keep-transactions.ts';
import { isRecord } from '@sluice/shared/solana/encoding/json-forms.ts';
import type { Rpc } from '@sluice/shared/solana/rpc/rpc.ts';
import { isMissing, isSkipped, wholeBlock } from './confirmed-block.ts';

/** Requests at one time. An answer has up to 24 MiB (`answerLimit`), and all long answers that are being parsed up to 64 MiB. */
const maxConcurrent = 2;
/** After a request that no endpoint answered with a block, none is requested for this long. */
const pauseMs = 60_000;

/** An element of a block's transactions, as the node sent it. */
export type BlockTransaction = Readonly<Record<string, unknown>>;

/** Reads transactions from whole blocks (`getBlock`); never rejects. Not every provider offers blocks, or answers in time. */
export class BlockFetcher {
  readonly counts = {
    /** Slots of which a block was read. */
    read: 0,
    /** Of these, slots whose blocks lack a listed transaction, at every endpoint. */
    short: 0,
    /** Slots with listed transactions that an endpoint reports as skipped. */
    skipped: 0,
    /** Slots whose block no endpoint has yet, or any more. */
    pruned: 0,
    /** Requests that no endpoint answered with a block: it does not offer blocks, was too slow, or the block was too long. */
    refused: 0,
  };
  readonly #rpc: Rpc;
  readonly #running = new Semaphore(maxConcurrent);
  #pausedUntilMs = -Infinity;

  constructor(rpc: Rpc) {
    this.#rpc = rpc;
  }

  /** False for a while after a request that no endpoint answered with a block. */
  get isOffered(): boolean {
    return performance.now() >= this.#pausedUntilMs;
  }

  /**
   * The requested transactions that blocks of this slot show, by signature. Endpoints are asked until all transactions are found. Only the
   * requested ones reach this thread.
   */
  fetch(slot: number, signatures: ReadonlySet<string>, signal: Abortable): Promise<Map<string, BlockTransaction>> {
    return this.#running.run(async () => {
      const found = new Map<string, BlockTransaction>();
      if (signal.aborted || !this.isOffered) return found;
      let isRead = false;
      const accept = (answer: unknown): boolean => {
        if (!isRecord(answer) || !Array.isArray(answer['transactions'])) return false;
        isRead = true;
        addTransactions(answer, slot, signatures, found);
        return found.size === signatures.size;
      };
      let fault: unknown = null;
      try {
        await this.#rpc.call('getBlock', [slot, wholeBlock], signal, accept, signatures);
      } catch (error) {
        fault = error;
      }
      if (!signal.aborted) this.#count(isRead, found.size < signatures.size, fault);
      return found;
    });
  }

  #count(isRead: boolean, isShort: boolean, fault: unknown): void {
    if (isRead) {
      this.counts.read++;
      if (isShort) this.counts.short++;
      return;
    }
    if (isSkipped(fault)) this.counts.skipped++;
    else if (isMissing(fault)) this.counts.pruned++;
    else {
      this.counts.refused++;
      this.#pausedUntilMs = performance.now() + pauseMs;
    }
  }
}

function addTransactions(
  block: Readonly<Record<string, unknown>>,
  slot: number,
  signatures: ReadonlySet<string>,
  found: Map<string, BlockTransaction>,
): void {
  const { transactions, blockTime } = block;
  for (const item of transactions as unknown[]) {
    const signature = signatureInBlock(item);
    if (signature === null || !signatures.has(signature) || found.has(signature)) continue;
    found.set(signature, { ...(item as object), slot, blockTime });
  }
}
