import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto';

/** AES-256-GCM under a key that scrypt (RFC 7914) makes of a passphrase. Sealed: version (1), nonce (12), tag (16), ciphertext. */
const version = 1;
const nonceLength = 12;
const tagLength = 16;
const headLength = 1 + nonceLength + tagLength;
/** 128 MiB and about a third of a second a guess. */
const scryptCost = { N: 2 ** 17, r: 8, p: 1, maxmem: 256 * 1024 * 1024 } as const;

export const saltLength = 32;

export function deriveKey(passphrase: string, salt: Uint8Array): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    scrypt(passphrase.normalize('NFKC'), salt, 32, scryptCost, (error, key) => (error === null ? resolve(key) : reject(error)));
  });
}

/** `context` is bound to the content: it opens only under the same one. */
export function seal(key: Uint8Array, content: Uint8Array, context: string): Uint8Array {
  const nonce = randomBytes(nonceLength);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context));
  const body = Buffer.concat([cipher.update(content), cipher.final()]);
  return Buffer.concat([Uint8Array.of(version), nonce, cipher.getAuthTag(), body]);
}

/** Null: another key, another context, or a changed bit. */
export function unseal(key: Uint8Array, sealed: Uint8Array, context: string): Uint8Array | null {
  if (sealed.length < headLength || sealed[0] !== version) return null;
  const nonce = sealed.subarray(1, 1 + nonceLength);
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagLength })
    .setAAD(Buffer.from(context))
    .setAuthTag(sealed.subarray(1 + nonceLength, headLength));
  const content = decipher.update(sealed.subarray(headLength));
  try {
    return Buffer.concat([content, decipher.final()]);
  } catch {
    // `final` throws where the tag does not fit, and for no other reason.
    return null;
  }
}
