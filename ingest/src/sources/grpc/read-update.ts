import { Recent } from '@sluice/shared/runtime/collections/recent.ts';
import { readTransaction } from '@sluice/shared/solana/transaction/inner-events.ts';
import { TransactionDecoder, type Decoding } from '../decode/transaction-decoder.ts';
import { answerOf, readHead, type GrpcUpdate } from './messages.ts';
import type { Venue } from '@sluice/venues/seam/venue.ts';

/** Transactions that are remembered: a minute of the busiest programs. */
const maxTransactions = 20_000;

/** An update as plain data: a thread passes it on. */
export type ReadUpdate =
  | {
      readonly kind: 'transaction';
      readonly slot: number;
      readonly signature: string;
      /** Null if an endpoint has sent the same before. */
      readonly contents: Decoding | null;
    }
  | { readonly kind: 'failed'; readonly slot: number; readonly signature: string }
  | { readonly kind: 'malformed' }
  | (Extract<GrpcUpdate, { readonly kind: 'slot' }> & { readonly status: 'processed' | 'confirmed' })
  | Extract<GrpcUpdate, { readonly kind: 'block' | 'account' }>;

/** Reads the updates of all endpoints, and decodes each transaction once. */
export class UpdateDecoder {
  readonly #decoder: TransactionDecoder;
  /** Signature -> slot and digest of what was decoded last. */
  readonly #decoded = new Recent<{ readonly slot: number; readonly digest: string }>(maxTransactions);

  constructor(venues: readonly Venue[]) {
    this.#decoder = new TransactionDecoder(venues);
  }

  /** Null for an update without contents. */
  read(update: GrpcUpdate): ReadUpdate | null {
    if (update.kind === 'transaction') return this.#readTransaction(update);
    if (update.kind === 'ping' || update.kind === 'other') return null;
    if (update.kind === 'slot') return update.status === 'other' ? null : { ...update, status: update.status };
    // A copy, because a message between threads has all of the memory that its bytes are a part of.
    return update.kind === 'account' ? { ...update, data: Uint8Array.from(update.data) } : update;
  }

  #readTransaction({ slot, info }: Extract<GrpcUpdate, { kind: 'transaction' }>): ReadUpdate {
    const head = readHead(info);
    if (head === 'malformed') return { kind: 'malformed' };
    const { signature, digest } = head;
    const known = this.#decoded.peek(signature);
    if (known?.slot === slot && known.digest === digest) return { kind: 'transaction', slot, signature, contents: null };
    const view = readTransaction(answerOf(info, slot, head));
    if (view.kind === 'malformed') return { kind: 'malformed' };
    const contents = this.#decoder.read(view);
    if (contents.kind === 'failed') return { kind: 'failed', slot, signature };
    this.#decoded.set(signature, { slot, digest });
    return { kind: 'transaction', slot, signature, contents };
  }
}
