import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto';

/** AES-256-GCM under a key that scrypt (RFC 7914) makes of a passphrase. Sealed: version (1), nonce (12), tag (16), ciphertext. */
const version = 1;
const nonceLength = 12;
const tagLength = 16;
const headLength = 1 + nonceLength + tagLength;
/** The work of one guess at a passphrase, as log2 of scrypt's N. 17 takes 128 MiB and about a third of a second. */
export const passphraseCost = 17;
/** For a passphrase of 256 random bits, which cannot be guessed at any cost. */
export const randomPassphraseCost = 12;
const saltLength = 32;

/** A new salt. Its first byte is the cost, so another cost gives another key. */
export function makeSalt(cost: number): Uint8Array {
  return Buffer.concat([Uint8Array.of(cost), randomBytes(saltLength)]);
}

/** Null: the salt is not from `makeSalt`. */
export function deriveKey(passphrase: string, salt: Uint8Array): Promise<Uint8Array | null> {
  const [cost = 0] = salt;
  if (salt.length !== 1 + saltLength || cost < randomPassphraseCost || cost > passphraseCost) return Promise.resolve(null);
  const parameters = { N: 2 ** cost, r: 8, p: 1, maxmem: 256 * 1024 * 1024 };
  return new Promise((resolve, reject) => {
    scrypt(passphrase.normalize('NFKC'), salt, 32, parameters, (error, key) => (error === null ? resolve(key) : reject(error)));
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
    // `final` throws only if the tag does not match.
    return null;
  }
}
