import { randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** `sluice_<id>_<secret>`. The id has 10 letters and digits; the secret has 34 random ones (202 bits) and 6 of a checksum. */
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const idLength = 10;
const randomLength = 34;
const checksumLength = 6;
const keyForm = /^sluice_([0-9A-Za-z]{10})_([0-9A-Za-z]{40})$/;
const keyLength = 'sluice_'.length + idLength + 1 + randomLength + checksumLength;

export interface KeyParts {
  readonly id: string;
  readonly secret: string;
}

export function newKeyId(): string {
  return randomText(idLength);
}

/** Creates a whole key for `id`. It is shown once and never stored. */
export function newApiKey(id: string): { readonly key: string; readonly secret: string } {
  const head = `sluice_${id}_`;
  const random = randomText(randomLength);
  const secret = random + checksum(head + random);
  return { key: head + secret, secret };
}

/** Splits a key. Null: the text does not have the form of a key. The checksum is not checked, because the secret is compared anyway. */
export function splitApiKey(text: string): KeyParts | null {
  if (text.length !== keyLength) return null;
  const match = keyForm.exec(text);
  return match === null ? null : { id: match[1]!, secret: match[2]! };
}

/** Splits a key and checks its checksum. Null: not a key. The checksum detects typing errors and lets scanners recognise keys; it proves nothing. */
export function parseApiKey(text: string): KeyParts | null {
  const parts = splitApiKey(text);
  return parts !== null && text.endsWith(checksum(text.slice(0, -checksumLength))) ? parts : null;
}

function randomText(length: number): string {
  let text = '';
  for (let index = 0; index < length; index++) text += alphabet[randomInt(alphabet.length)];
  return text;
}

function checksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let index = 0; index < checksumLength; index++) {
    digits = (alphabet[rest % alphabet.length] ?? '') + digits;
    rest = Math.floor(rest / alphabet.length);
  }
  return digits;
}
