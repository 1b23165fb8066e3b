import { Turns } from '@sluice/shared/runtime/clock/turns.ts';
import { urgentFirst } from '../decode/urgent.ts';
import type { BlockItem } from './block-reader.ts';
import type { WholeSighting } from '../sighting.ts';
import type { SourceSink } from '../source.ts';

/** Transactions that are reported between two checks of the time. */
const stepsPerCheck = 4;

export interface BlockParts {
  readonly transactions: readonly BlockItem[];
  /** Signatures of transactions that failed. */
  readonly failed: readonly unknown[];
}

/** Reports the transactions of a block in turns, so that a block never holds the event loop. Returns how many could not be read. */
export async function reportTransactions(
  { transactions, failed }: BlockParts,
  of: Omit<WholeSighting, 'kind' | 'transaction' | 'signature'>,
  sink: SourceSink,
): Promise<number> {
  const turns = new Turns(stepsPerCheck);
  let malformed = 0;
  for (const { signature, contents } of urgentFirst(transactions)) {
    if (turns.isOver) await turns.pass();
    if (contents === null) malformed++;
    else sink.sighting({ kind: 'whole', ...of, signature, transaction: contents });
  }
  for (const signature of failed) if (typeof signature === 'string') sink.failed(signature, of.slot, of.source);
  return malformed;
}
