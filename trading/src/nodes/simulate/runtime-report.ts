import { isRecord, isSlot } from '@sluice/shared/solana/encoding/json-forms.ts';

/** An error of the runtime in the RPC's JSON form. `name` is the runtime's, for example `BlockhashNotFound`, `Custom`, `IncorrectProgramId`. */
export type TransactionError =
  | { readonly kind: 'transaction'; readonly name: string; readonly accountIndex: number | null }
  | { readonly kind: 'instruction'; readonly index: number; readonly name: string; readonly custom: number | null }
  /** An error of an unknown form. */
  | { readonly kind: 'unreadable' };

const unreadable: TransactionError = { kind: 'unreadable' };
const nameForm = /^[A-Za-z]{1,64}$/;

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
    if (!isSlot(index) || within === null) return unreadable;
    const custom = within[0] === 'Custom' ? within[1] : null;
    if (custom !== null && !isSlot(custom)) return unreadable;
    return { kind: 'instruction', index, name: within[0], custom };
  }
  const accountIndex = isRecord(content) && isSlot(content['account_index']) ? content['account_index'] : null;
  return { kind: 'transaction', name, accountIndex };
}

/** The program that failed, read from the runtime's own log lines. */
export interface FailingProgram {
  readonly program: string;
  /** The program of the top-level instruction. */
  readonly topProgram: string;
  /** The text after `failed: `. */
  readonly reason: string;
  /** Lines that were logged while the failing program ran, oldest first. */
  readonly lines: readonly string[];
}

const invokeForm = /^Program ([1-9A-HJ-NP-Za-km-z]{32,44}) invoke \[\d+\]$/;
const endForm = /^Program ([1-9A-HJ-NP-Za-km-z]{32,44}) (success|failed: (.*))$/s;
/** Deepest invoke stack that is read; the runtime allows nine (SIMD-0268). */
const maxDepth = 64;

/**
 * Finds the innermost program that failed. Programs cannot catch an error, so the first `failed` line names its origin, and later ones name the
 * callers. Only the runtime writes such lines; a program's own lines begin with `Program log: `. Null if the log is truncated before that line,
 * or malformed.
 */
export function failingProgram(logs: readonly string[]): FailingProgram | null {
  const stack: { readonly program: string; readonly lines: string[] }[] = [];
  for (const line of logs) {
    if (line === 'Log truncated') return null;
    const invoked = invokeForm.exec(line)?.[1];
    if (invoked !== undefined) {
      if (stack.length === maxDepth) return null;
      stack.push({ program: invoked, lines: [] });
      continue;
    }
    const end = endForm.exec(line);
    if (end === null) {
      stack.at(-1)?.lines.push(line);
      continue;
    }
    const top = stack[0];
    const ended = stack.pop();
    if (top === undefined || ended === undefined || ended.program !== end[1]) return null;
    if (end[2] !== 'success') return { program: ended.program, topProgram: top.program, reason: end[3] ?? '', lines: ended.lines };
  }
  return null;
}
