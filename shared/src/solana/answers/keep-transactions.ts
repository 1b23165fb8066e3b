import { isRecord } from '../json-forms.ts';

/**
 * Removes all transactions from a block except those with the given signatures. Changes the answer to `getBlock` itself; does nothing to
 * any other answer. A block has thousands of transactions, and a caller needs a few of them.
 */
export function keepTransactions(answer: unknown, signatures: ReadonlySet<string>): void {
  const block = isRecord(answer) ? answer['result'] : null;
  if (!isRecord(block) || !Array.isArray(block['transactions'])) return;
  block['transactions'] = block['transactions'].filter((item: unknown) => signatures.has(signatureInBlock(item) ?? ''));
}

/** The signature of one element of a block's transactions; null if it has an unknown form. */
export function signatureInBlock(item: unknown): string | null {
  const transaction = isRecord(item) ? item['transaction'] : null;
  const signatures: unknown = isRecord(transaction) ? transaction['signatures'] : null;
  const first: unknown = Array.isArray(signatures) ? signatures[0] : null;
  return typeof first === 'string' ? first : null;
}
