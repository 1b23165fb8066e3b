/** What a field of an answer must be. */
export const is =
  (expected: unknown) =>
  (value: unknown): boolean =>
    value === expected;
export const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';
export const isFields = (value: unknown): boolean => typeof value === 'object' && value !== null;
export const isCount = (value: unknown): boolean => Number.isSafeInteger(value);

/** 32 hexadecimal digits. The key is unique and not secret, so `Math.random` is enough where there is no `crypto`, as in React Native. */
export function newKey(): string {
  const source: Pick<typeof crypto, 'getRandomValues'> | undefined = globalThis.crypto;
  const bytes = source?.getRandomValues(new Uint8Array(16)) ?? Uint8Array.from({ length: 16 }, () => Math.random() * 256);
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
