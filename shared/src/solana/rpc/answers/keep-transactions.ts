import { isRecord } from '../../encoding/json-forms.ts';

/** In base58. A signature has at least 64 characters. */
const maxAddressLength = 44;

/**
 * Removes transactions from a block, because a block has thousands and a caller needs a few. `keep` has signatures, whose transactions stay, and
 * addresses, whose successful transactions stay. With addresses, the field `signatures` then lists all transactions of the block, and `failed` those that
 * failed. Changes the answer to `getBlock` or the notification of a block itself; does nothing to any other message.
 */
export function keepTransactions(answer: unknown, keep: ReadonlySet<string>): void {
  const block = blockIn(answer);
  if (!isRecord(block) || !Array.isArray(block['transactions'])) return;
  const transactions = block['transactions'] as unknown[];
  if ([...keep].some((one) => one.length <= maxAddressLength)) {
    block['signatures'] = transactions.map(signatureInBlock);
    block['failed'] = transactions.filter(hasFailed).map(signatureInBlock);
  }
  block['transactions'] = transactions.filter((item) => keep.has(signatureInBlock(item) ?? '') || (!hasFailed(item) && names(item, keep)));
}

/** What an answer contains, or the block of a notification of `blockSubscribe`. */
export function blockIn(message: unknown): unknown {
  if (!isRecord(message)) return null;
  const { result, params } = message;
  if (result !== undefined || !isRecord(params) || !isRecord(params['result'])) return result;
  const { value } = params['result'];
  return isRecord(value) ? value['block'] : null;
}

/** The signature of one element of a block's transactions; null if it has an unknown form. */
export function signatureInBlock(item: unknown): string | null {
  const transaction = isRecord(item) ? item['transaction'] : null;
  const signatures: unknown = isRecord(transaction) ? transaction['signatures'] : null;
  const first: unknown = Array.isArray(signatures) ? signatures[0] : null;
  return typeof first === 'string' ? first : null;
}

function hasFailed(item: unknown): boolean {
  const meta = isRecord(item) ? item['meta'] : null;
  return isRecord(meta) && meta['err'] !== null && meta['err'] !== undefined;
}

/** Whether the transaction has one of the addresses among its keys, in the encoding `json`. */
function names(item: unknown, addresses: ReadonlySet<string>): boolean {
  if (!isRecord(item) || !isRecord(item['transaction']) || !isRecord(item['transaction']['message'])) return false;
  const loaded = isRecord(item['meta']) ? item['meta']['loadedAddresses'] : null;
  const { writable, readonly } = isRecord(loaded) ? loaded : { writable: null, readonly: null };
  const { accountKeys } = item['transaction']['message'];
  return [accountKeys, writable, readonly].some((keys) => Array.isArray(keys) && keys.some((key) => addresses.has(key as string)));
}
