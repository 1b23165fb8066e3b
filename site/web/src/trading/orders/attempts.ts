/** Codes of errors after which the server may have the order. */
export const undecided: ReadonlySet<string> = new Set(['NETWORK', 'TIMEOUT', 'MALFORMED', 'INTERNAL', 'IDEMPOTENCY_IN_PROGRESS']);

/** An Idempotency-Key: 32 hexadecimal digits. */
export function newKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
