import type { Decoder, Reading } from '../pipeline/decode.ts';
import type { BlockFetcher, BlockTransaction } from '../sources/blocks/block-fetcher.ts';
import type { LostTransaction, TransactionFetcher } from '../sources/rpc/transaction-fetcher.ts';
import { readWholeSighting, type Unusable } from '../sources/rpc/whole-sighting.ts';
import { nowUs } from '@sluice/shared/runtime/clock/now-us.ts';
import type { Listed } from '../sources/rpc/listing.ts';

/**
 * A block is read for a slot that lacks at least this many transactions, of all programs together. It replaces as many requests, which
 * providers charge and limit, but has megabytes where a transaction has some ten kilobytes.
 */
const fewestInBlock = 8;
/**
 * In a longer gap every transaction is requested by itself. Two blocks of five to ten megabytes at a time arrive hardly faster than the chain
 * makes new ones, so a long gap would take too long. This also limits the blocks of one gap to about 600 MB.
 */
const maxBlocks = 64;

export type GapAnswer = Exclude<Reading, Unusable> | LostTransaction;

export interface GapReaderParts {
  readonly blocks: BlockFetcher;
  readonly transactions: TransactionFetcher;
  readonly decoder: Pick<Decoder, 'read'>;
}

/**
 * Reads the missing transactions of a gap. Lists of signatures say what is missing. Slots of a short gap that lack many transactions are read
 * as whole blocks, all programs at once. Every other transaction is requested by itself: if the gap is long, if no endpoint offers blocks, if
 * the slot lacks few, or if its block does not show the transaction completely.
 */
export class GapReader {
  readonly #parts: GapReaderParts;
  /** Missing transactions of the slots that are read as blocks. */
  readonly #bySlot: ReadonlyMap<number, ReadonlySet<string>>;
  readonly #blocks = new Map<number, Promise<Map<string, BlockTransaction>>>();

  constructor(parts: GapReaderParts, missing: readonly Listed[]) {
    this.#parts = parts;
    this.#bySlot = slotsForBlocks(missing);
  }

  /** Requests a transaction now. The returned function reads it, once; it never rejects. */
  request({ signature, slot }: Listed, signal: AbortSignal): () => Promise<GapAnswer> {
    const block = this.#block(slot, signal);
    if (block === null) {
      const answer = this.#fetch(signature, slot, signal);
      return () => answer;
    }
    // If the block lacks the transaction, it is requested at once, and not only when it is read. So many are requested at a time.
    const rest = block.then((transactions) => (transactions.has(signature) ? null : this.#fetch(signature, slot, signal)));
    return async () => {
      const answer = await rest;
      if (answer !== null) return answer;
      const transactions = await block;
      const found = transactions.get(signature)!;
      // Transactions that were read would fill the memory.
      transactions.delete(signature);
      const reading = this.#read(found, signature, slot);
      return reading.kind === 'unusable' ? this.#fetch(signature, slot, signal) : reading;
    };
  }

  #block(slot: number, signal: AbortSignal): Promise<Map<string, BlockTransaction>> | null {
    const known = this.#blocks.get(slot);
    if (known !== undefined) return known;
    const signatures = this.#bySlot.get(slot);
    if (signatures === undefined || !this.#parts.blocks.isOffered) return null;
    const block = this.#parts.blocks.fetch(slot, signatures, signal);
    this.#blocks.set(slot, block);
    return block;
  }

  #read(found: BlockTransaction, signature: string, slot: number): Reading | Unusable {
    const origin = { source: 'blocks', signature, slot, commitment: 'confirmed', receivedUs: nowUs(), late: true } as const;
    const sighting = readWholeSighting(found, origin);
    return sighting.kind === 'unusable' ? sighting : this.#parts.decoder.read(sighting);
  }

  #fetch(signature: string, slot: number, signal: AbortSignal): Promise<GapAnswer> {
    const { transactions, decoder } = this.#parts;
    return transactions.fetch(signature, slot, signal, (whole) => decoder.read(whole));
  }
}

/** None in a gap of too many slots. */
function slotsForBlocks(missing: readonly Listed[]): ReadonlyMap<number, ReadonlySet<string>> {
  const bySlot = new Map<number, Set<string>>();
  for (const { slot, signature } of missing) {
    const signatures = bySlot.get(slot);
    if (signatures === undefined) bySlot.set(slot, new Set([signature]));
    else signatures.add(signature);
  }
  for (const [slot, signatures] of bySlot) if (signatures.size < fewestInBlock) bySlot.delete(slot);
  return bySlot.size > maxBlocks ? new Map() : bySlot;
}
