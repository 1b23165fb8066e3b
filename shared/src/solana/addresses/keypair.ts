import { createPrivateKey, createPublicKey, randomBytes, sign, verify, type KeyObject } from 'node:crypto';
import { Recent } from '../../runtime/collections/recent.ts';
import { decodeBase58, encodeBase58 } from '../encoding/base58.ts';

/** Ed25519 keypair. `seed` is the 32-byte secret; `publicKey` is base58. */
export interface Keypair {
  readonly publicKey: string;
  readonly publicKeyBytes: Uint8Array;
  readonly seed: Uint8Array;
}

const seedLength = 32;
const signatureLength = 64;

/** Form of the keys (RFC 8037). OpenSSL reads the raw bytes from it in a tenth of the time that it takes for DER. */
const okp = { kty: 'OKP', crv: 'Ed25519' } as const;

/** Importing a key costs as much as a signature, so imported keys are cached. A private key is dropped together with its keypair. */
const privateKeys = new WeakMap<Keypair, KeyObject>();
const publicKeys = new Recent<KeyObject>(4_096);

function importSeed(seed: Uint8Array): KeyObject {
  // `x` must be there, but OpenSSL computes the public key from the seed.
  return createPrivateKey({ key: { ...okp, d: Buffer.from(seed).toString('base64url'), x: '' }, format: 'jwk' });
}

function importPublicKey(address: string): KeyObject | null {
  const known = publicKeys.get(address);
  if (known !== undefined) return known;
  const bytes = decodeBase58(address);
  if (bytes === null || bytes.length !== 32) return null;
  const key = createPublicKey({ key: { ...okp, x: Buffer.from(bytes).toString('base64url') }, format: 'jwk' });
  publicKeys.set(address, key);
  return key;
}

/** A keypair from a 32-byte seed, or a random one. Throws RangeError if the seed has another length. */
export function generateKeypair(seed: Uint8Array = randomBytes(seedLength)): Keypair {
  if (seed.length !== seedLength) throw new RangeError(`An Ed25519 seed has ${seedLength} bytes, not ${seed.length}.`);
  const own = Uint8Array.from(seed);
  const privateKey = importSeed(own);
  const publicKeyBytes = Uint8Array.from(Buffer.from(createPublicKey(privateKey).export({ format: 'jwk' }).x ?? '', 'base64url'));
  const keypair: Keypair = { publicKey: encodeBase58(publicKeyBytes), publicKeyBytes, seed: own };
  privateKeys.set(keypair, privateKey);
  return keypair;
}

/** The 64-byte Ed25519 signature (RFC 8032) of a message. */
export function signMessage(keypair: Keypair, message: Uint8Array): Uint8Array {
  let key = privateKeys.get(keypair);
  if (key === undefined) {
    key = importSeed(keypair.seed);
    privateKeys.set(keypair, key);
  }
  return new Uint8Array(sign(null, message, key));
}

/** Whether `signature` is one of `message` by the key with this address. False if the address or the signature is malformed. */
export function verifySignature(publicKey: string, message: Uint8Array, signature: Uint8Array): boolean {
  if (signature.length !== signatureLength) return false;
  const key = importPublicKey(publicKey);
  return key !== null && verify(null, message, key, signature);
}
