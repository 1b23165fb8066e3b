import { createHash } from 'node:crypto';
import { decodeBase58, encodeBase58 } from '../encoding/base58.ts';
import { isOnCurve } from './curve.ts';
import { associatedTokenProgram } from '../well-known.ts';

/** Limits of the runtime: seeds, and bytes of a seed (the bump is one more seed). */
const maxSeeds = 15;
const maxSeedBytes = 32;
const marker = Buffer.from('ProgramDerivedAddress');

/** The 32 bytes of an address. Throws TypeError if the text is not an address, which is a bug of the caller. */
export function addressBytes(address: string): Uint8Array {
  const bytes = decodeBase58(address);
  if (bytes === null || bytes.length !== 32) throw new TypeError(`Not an address: ${address.slice(0, 64)}`);
  return bytes;
}

/** The address off the curve with the highest bump: about two hashes and two curve checks. Throws RangeError on seeds that the runtime refuses. */
export function findProgramAddress(seeds: readonly Uint8Array[], programId: string): { address: string; bump: number } {
  if (seeds.length > maxSeeds) throw new RangeError(`At most ${maxSeeds} seeds, not ${seeds.length}.`);
  for (const seed of seeds) {
    if (seed.length > maxSeedBytes) throw new RangeError(`A seed has at most ${maxSeedBytes} bytes, not ${seed.length}.`);
  }
  const bumpByte = Buffer.alloc(1);
  const input = Buffer.concat([...seeds, bumpByte, addressBytes(programId), marker]);
  const bumpAt = input.length - marker.length - 32 - 1;
  for (let bump = 255; bump >= 0; bump--) {
    input[bumpAt] = bump;
    const candidate = createHash('sha256').update(input).digest();
    if (!isOnCurve(candidate)) return { address: encodeBase58(candidate), bump };
  }
  throw new RangeError('No bump gives an address off the curve.');
}

/** The address that the system program derives from a base, which must sign, a seed of at most 32 bytes, and the owning program. */
export function addressWithSeed(base: Uint8Array, seed: string, programId: Uint8Array): string {
  return encodeBase58(
    createHash('sha256')
      .update(Buffer.concat([base, Buffer.from(seed), programId]))
      .digest(),
  );
}

/** Associated token account of a wallet for a mint under one of the two token programs. */
export function associatedTokenAddress(owner: string, mint: string, tokenProgramId: string): string {
  return findProgramAddress([addressBytes(owner), addressBytes(tokenProgramId), addressBytes(mint)], associatedTokenProgram).address;
}
