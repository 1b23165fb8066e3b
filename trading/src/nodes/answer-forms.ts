import { contextAndValue, isSlot } from '@sluice/shared/solana/encoding/json-forms.ts';

/** Readers for answers of nodes. They return null for anything that is not of the documented form. */

export function countOf(value: unknown): number | null {
  return isSlot(value) ? value : null;
}

/** Lamports. Values beyond 2^53 (nine million SOL) are rounded, because JSON numbers are doubles. */
export function lamportsOf(value: unknown): bigint | null {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? BigInt(value) : null;
}

export function linesOf(value: unknown): readonly string[] | null {
  return Array.isArray(value) && value.every((line) => typeof line === 'string') ? value : null;
}

/** `context.slot` and `value` of an answer. Null if the slot is not a number, or one that the chain cannot have reached. */
export function contextOf(answer: unknown, newestSlot: number): { readonly slot: number; readonly value: unknown } | null {
  const read = contextAndValue(answer);
  return read === null || read.slot > newestSlot ? null : read;
}

/** Codes of errors in the transaction's bytes, with the runtime's names. Every node and block engine reports them before it does anything. */
export const bytesFaults: ReadonlyMap<number, string> = new Map([
  [-32003, 'SignatureFailure'],
  [-32602, 'SanitizeFailure'],
  [-32006, 'SanitizeFailure'],
  [-32013, 'SanitizeFailure'],
]);
