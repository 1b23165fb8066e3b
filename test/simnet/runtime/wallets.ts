import { createHash } from 'node:crypto';
import { generateKeypair, signMessage, type Keypair } from '@sluice/shared/solana/addresses/keypair.ts';
import { assembleTransaction, compileMessage, type Instruction } from '@sluice/shared/solana/transaction/transaction.ts';

/** Wallets of earlier chains in this process. To make a key takes a tenth of a millisecond. */
const known = new Map<string, Keypair>();
const maxKnown = 1_000;

/** A wallet whose key depends only on the seed and a label. */
export function wallet(seed: string, label: string): Keypair {
  const name = `${seed}: ${label}`;
  const made = known.get(name) ?? generateKeypair(createHash('sha256').update(name).digest());
  if (known.size < maxKnown) known.set(name, made);
  return made;
}

export interface Signed {
  readonly version: 'legacy' | 0;
  readonly recentBlockhash: string;
  readonly instructions: readonly Instruction[];
  /** The first pays the fee. */
  readonly signers: readonly [Keypair, ...Keypair[]];
  /** Further signers, without a private key. Their signatures are hashes. */
  readonly withoutKey?: readonly string[];
}

/** A signed transaction in wire form. Further signers must appear in the instructions in the given order. */
export function signTransaction({ version, recentBlockhash, instructions, signers, withoutKey = [] }: Signed): Uint8Array {
  const message = compileMessage({ version, feePayer: signers[0].publicKey, recentBlockhash, instructions });
  const hashes = withoutKey.map((address) => createHash('sha512').update(address).update(message).digest());
  return assembleTransaction(message, [...signers.map((keypair) => signMessage(keypair, message)), ...hashes]);
}
