import { isRecord } from '@sluice/shared/solana/encoding/json-forms.ts';
import { blockIn, keepTransactions, signatureInBlock } from '@sluice/shared/solana/rpc/answers/keep-transactions.ts';
import type { BlockReader } from '@sluice/shared/solana/rpc/answers/large-answers.ts';
import { readTransaction } from '@sluice/shared/solana/transaction/inner-events.ts';
import { venueByProgram } from '@sluice/venues/registry.ts';
import { TransactionDecoder, type Decoding } from '../decode/transaction-decoder.ts';

/** A transaction of a block, as plain data; `contents` are null if it could not be read. */
export interface BlockItem {
  readonly signature: string;
  readonly contents: Decoding | null;
}

/** Keeps the transactions of the programs `keep` in a block, and decodes them into `BlockItem`s. */
function decodeBlock(answer: unknown, keep: ReadonlySet<string>): void {
  keepTransactions(answer, keep);
  const block = blockIn(answer);
  if (!isRecord(block) || !Array.isArray(block['transactions'])) return;
  const decoder = new TransactionDecoder([...keep].flatMap((program) => venueByProgram.get(program) ?? []));
  const { blockTime } = block;
  // A notification has only the transactions of one program.
  const isWhole = isRecord(answer) && answer['params'] === undefined;
  const listed = isWhole && Array.isArray(block['signatures']) ? (block['signatures'] as unknown[]) : [];
  const places = new Map(listed.map((signature, at) => [signature, at]));
  block['transactions'] = (block['transactions'] as unknown[]).flatMap((item): BlockItem[] => {
    const signature = signatureInBlock(item);
    if (signature === null) return [];
    const view = readTransaction({ ...(item as object), blockTime, transactionIndex: places.get(signature) });
    const isReadable = view.kind === 'transaction' && view.signature === signature;
    return [{ signature, contents: isReadable ? decoder.read(view) : null }];
  });
}

/** For the blocks of the sources: what a thread decodes reaches the process as plain data. */
export const blockReader: BlockReader = { thread: 'blocks-thread', read: decodeBlock };
