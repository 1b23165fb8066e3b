import { readTransaction } from '@sluice/shared/solana/transaction/inner-events.ts';
import type { LogsSighting, WholeSighting } from '../../ingest/src/sources/sighting.ts';

/** A sighting of logs as PubSub reports it. */
export function logsSighting(of: Pick<LogsSighting, 'signature' | 'slot' | 'logs' | 'receivedUs'>): LogsSighting {
  return { kind: 'logs', source: 'test', commitment: 'processed', ...of };
}

/** A whole sighting of what `getTransaction` answers. */
export function wholeSighting(answer: unknown): WholeSighting {
  const transaction = readTransaction(answer);
  if (transaction.kind === 'malformed') throw new Error(transaction.reason);
  const { signature, slot } = transaction;
  return { kind: 'whole', source: 'test', commitment: 'processed', receivedUs: 1, late: false, signature, slot: slot ?? 0, transaction };
}
