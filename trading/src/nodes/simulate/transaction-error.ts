import { isRecord } from '@sluice/shared/solana/encoding/json-forms.ts';

/** An error of the runtime in the RPC's JSON form. `name` is the runtime's, for example `BlockhashNotFound`, `Custom`, `IncorrectProgramId`. */
export type TransactionError =
  | { readonly kind: 'transaction'; readonly name: string; readonly accountIndex: number | null }
  | { readonly kind: 'instruction'; readonly index: number; readonly name: string; readonly custom: number | null }
  /** An error of an unknown form. */
  | { readonly kind: 'unreadable' };

const unreadable: TransactionError = { kind: 'unreadable' };
const nameForm = /^[A-Za-z]{1,64}$/;

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

/** Name and content of an enum variant in serde's JSON form. */
function variantOf(value: unknown): readonly [name: string, content: unknown] | null {
  if (typeof value === 'string') return nameForm.test(value) ? [value, null] : null;
  if (!isRecord(value)) return null;
  const entries = Object.entries(value);
  const [entry] = entries;
  return entry !== undefined && entries.length === 1 && nameForm.test(entry[0]) ? entry : null;
}

/** Reads the `err` of a simulation, a status or a transaction. It must not be null. */
export function readTransactionError(err: unknown): TransactionError {
  const variant = variantOf(err);
  if (variant === null) return unreadable;
  const [name, content] = variant;
  if (name === 'InstructionError') {
    if (!Array.isArray(content) || content.length !== 2) return unreadable;
    const [index, inner] = content as readonly unknown[];
    const within = variantOf(inner);
    if (!isCount(index) || within === null) return unreadable;
    const custom = within[0] === 'Custom' ? within[1] : null;
    if (custom !== null && !isCount(custom)) return unreadable;
    return { kind: 'instruction', index, name: within[0], custom };
  }
  const accountIndex = isRecord(content) && isCount(content['account_index']) ? content['account_index'] : null;
  return { kind: 'transaction', name, accountIndex };
}
