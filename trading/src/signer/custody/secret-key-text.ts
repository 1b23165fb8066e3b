import { decodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { generateKeypair } from '@sluice/shared/solana/addresses/keypair.ts';

export type SecretKeyOutcome =
  | { readonly ok: true; readonly seed: Uint8Array }
  /** What is wrong, without any part of the text. */
  | { readonly ok: false; readonly reason: string };

/** Longest text that is read. An array of 64 numbers has about 330 characters. */
const maxLength = 2048;
const secretKeyLength = 64;

/** Reads the secret key of a wallet: 64 bytes, in base58 or as a JSON array of numbers. */
export function readSecretKey(text: string): SecretKeyOutcome {
  const trimmed = text.trim();
  if (trimmed === '') return refuse('it is empty');
  if (trimmed.length > maxLength) return refuse('longer than any secret key');
  const bytes = trimmed.startsWith('[') ? fromJson(trimmed) : decodeBase58(trimmed);
  if (bytes === null) return refuse('neither base58 nor a JSON array of bytes');
  if (bytes.length === 32) return refuse('32 bytes, so it is a public key or only a seed; the 64-byte secret key is required');
  if (bytes.length !== secretKeyLength) return refuse(`${bytes.length} bytes, but a secret key has ${secretKeyLength}`);
  const seed = bytes.slice(0, 32);
  const { publicKeyBytes } = generateKeypair(seed);
  if (Buffer.compare(publicKeyBytes, bytes.subarray(32)) !== 0) return refuse('its two halves do not belong together');
  return { ok: true, seed };
}

function refuse(reason: string): SecretKeyOutcome {
  return { ok: false, reason };
}

function fromJson(text: string): Uint8Array | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (!Array.isArray(value)) return null;
  const isByte = (item: unknown): item is number => typeof item === 'number' && Number.isInteger(item) && item >= 0 && item <= 255;
  return value.every(isByte) ? Uint8Array.from(value) : null;
}
