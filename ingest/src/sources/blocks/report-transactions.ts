import { signatureInBlock } from '@sluice/shared/solana/rpc/answers/keep-transactions.ts';
import { Turns } from '../turns.ts';
import { readWholeSighting } from '../rpc/whole-sighting.ts';
import type { WholeSighting } from '../sighting.ts';
import type { SourceSink } from '../source.ts';

/** Transactions that are reported between two checks of the time. */
const stepsPerCheck = 4;

export interface BlockParts {
  readonly transactions: readonly unknown[];
  /** Signatures of transactions that failed. */
  readonly failed: readonly unknown[];
  readonly blockTime: unknown;
}

/** Reports the transactions of a block in turns, so that a block never holds the event loop. Returns how many could not be read. */
export async function reportTransactions(
  { transactions, failed, blockTime }: BlockParts,
  of: Omit<WholeSighting, 'kind' | 'transaction' | 'signature'>,
  sink: SourceSink,
): Promise<number> {
  const turns = new Turns(stepsPerCheck);
  let malformed = 0;
  for (const item of transactions) {
    if (turns.isOver) await turns.pass();
    const signature = signatureInBlock(item);
    if (signature === null) continue;
    const sighting = readWholeSighting({ ...(item as object), slot: of.slot, blockTime }, { ...of, signature });
    if (sighting.kind === 'unusable') malformed++;
    else sink.sighting(sighting);
  }
  for (const signature of failed) if (typeof signature === 'string') sink.failed(signature, of.slot);
  return malformed;
}
