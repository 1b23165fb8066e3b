import { verifySignature } from '@sluice/shared/solana/addresses/keypair.ts';
import { decodeTransaction, signatureFromText, type DecodedTransaction } from '@sluice/shared/solana/transaction/transaction.ts';
import type { DecodedBundle, Execution, SendOptions, SendOutcome } from './chain.ts';
import { transactionErrorText } from './runtime/error-texts.ts';
import { messageKeys } from './runtime/message.ts';

/** Transactions that wait for a block. More are refused. */
const maxQueued = 10_000;
/** A legacy or v0 transaction fits one packet. */
const maxPacketBytes = 1_232;

const rpcCode = { simulationFailed: -32002, signatureFailure: -32003, overloaded: -32005, invalidParams: -32602 } as const;

/** A transaction that waits for a block. */
export interface Queued {
  readonly wire: Uint8Array;
  readonly transaction: DecodedTransaction;
  readonly signature: string;
  /** The others of its bundle, which land together with it, or not at all. */
  readonly others?: readonly Queued[];
}

interface QueueParts {
  /** Runs a transaction without including it. */
  readonly preview: (transaction: DecodedTransaction) => Execution;
  /** The bytes of a transaction that landed. */
  readonly landed: (signature: string) => Uint8Array | undefined;
}

/** The transactions that wait for a block, in order of arrival. Bounded: one more is refused, as by a node that is behind. */
export class SendQueue {
  readonly #parts: QueueParts;
  /** Bytes of the waiting transactions, by signature. */
  readonly #waiting = new Map<string, Uint8Array>();
  #queue: Queued[] = [];

  constructor(parts: QueueParts) {
    this.#parts = parts;
  }

  send(wire: Uint8Array, options: SendOptions = {}): SendOutcome {
    const transaction = options.decoded ?? decodeTransaction(wire);
    if (transaction.kind === 'malformed') {
      return { ok: false, code: rpcCode.invalidParams, message: `failed to deserialize transaction: ${transaction.reason}` };
    }
    if (transaction.version !== 1 && wire.length > maxPacketBytes) {
      return {
        ok: false,
        code: rpcCode.invalidParams,
        message: `transaction too large: ${wire.length} bytes (max: ${maxPacketBytes} bytes)`,
      };
    }
    const signature = transaction.signatures[0] ?? '';
    if (options.isTrusted !== true && !this.#isVerified(signature, wire) && !signaturesHold(transaction)) {
      return { ok: false, code: rpcCode.signatureFailure, message: 'Transaction signature verification failure' };
    }
    if (this.#waiting.has(signature)) return { ok: true, signature };
    if (options.skipPreflight !== true) {
      const execution = this.#parts.preview(transaction);
      if (execution.err !== null) return preflightFailure(execution, execution.err);
    }
    if (this.#queue.length >= maxQueued) {
      return { ok: false, code: rpcCode.overloaded, message: 'Node is behind: too many transactions wait for a block' };
    }
    this.#queue.push({ wire, transaction, signature });
    this.#waiting.set(signature, wire);
    return { ok: true, signature };
  }

  /** Queues a bundle. Transactions that wait alone already remain in the queue. */
  sendBundle(bundle: readonly DecodedBundle[]): SendOutcome {
    const all = bundle.map(({ wire, decoded }): Queued => ({ wire, transaction: decoded, signature: decoded.signatures[0] ?? '' }));
    const [first, ...others] = all;
    if (first === undefined) return { ok: false, code: rpcCode.invalidParams, message: 'a bundle has at least one transaction' };
    if (!all.every(({ transaction }) => signaturesHold(transaction)))
      return { ok: false, code: rpcCode.signatureFailure, message: 'Transaction signature verification failure' };
    if (this.#queue.length >= maxQueued) return { ok: false, code: rpcCode.overloaded, message: 'too many transactions wait for a block' };
    this.#queue.push({ ...first, others });
    return { ok: true, signature: first.signature };
  }

  /** The next transactions of a block. They count as waiting until `included`. */
  take(count: number): Queued[] {
    return this.#queue.splice(0, count);
  }

  included(signature: string): void {
    this.#waiting.delete(signature);
  }

  /** Puts transactions of a dead fork in front of all others. */
  putBack(transactions: readonly Queued[]): void {
    this.#queue.unshift(...transactions);
    for (const { signature, wire } of transactions) this.#waiting.set(signature, wire);
  }

  /** Whether exactly these bytes were verified when they first came: clients send them again until they see them in a block. */
  #isVerified(signature: string, wire: Uint8Array): boolean {
    const known = this.#waiting.get(signature) ?? this.#parts.landed(signature);
    return known !== undefined && Buffer.compare(known, wire) === 0;
  }
}

export function signaturesHold(transaction: DecodedTransaction): boolean {
  return messageKeys(transaction)
    .filter((key) => key.signer)
    .every(({ address }, index) => {
      const bytes = signatureFromText(transaction.signatures[index] ?? '');
      return bytes !== null && verifySignature(address, transaction.messageBytes, bytes);
    });
}

/** A transaction of a dead fork that is sent again. */
export function requeued(wire: Uint8Array, signature: string): Queued[] {
  const transaction = decodeTransaction(wire);
  return transaction.kind === 'decoded' ? [{ wire, transaction, signature }] : [];
}

function preflightFailure(execution: Execution, err: NonNullable<Execution['err']>): SendOutcome {
  return {
    ok: false,
    code: rpcCode.simulationFailed,
    message: `Transaction simulation failed: ${transactionErrorText(err)}`,
    data: { err, logs: execution.logs, accounts: null, unitsConsumed: execution.unitsConsumed, returnData: null, innerInstructions: null },
  };
}
