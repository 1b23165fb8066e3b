import { readTransaction } from '@sluice/shared/solana/transaction/inner-events.ts';
import type { WholeSighting } from '../sighting.ts';

/** An answer that is not what was requested, or does not show all of it: another endpoint may have it. */
export interface Unusable {
  readonly kind: 'unusable';
  readonly reason: string;
}

/** Reads one transaction as `getTransaction` answers, or an element of a block. */
export function readWholeSighting(answer: unknown, of: Omit<WholeSighting, 'kind' | 'transaction'>): WholeSighting | Unusable {
  const transaction = readTransaction(answer);
  if (transaction.kind === 'malformed') return { kind: 'unusable', reason: 'the answer is not a transaction' };
  if (transaction.signature !== of.signature) return { kind: 'unusable', reason: 'the answer has another transaction' };
  return { kind: 'whole', ...of, slot: transaction.slot ?? of.slot, transaction };
}
