import { createHash } from 'node:crypto';
import { encodeBase58 } from '@sluice/shared/solana/base58.ts';
import { simnetGenesisPrefix } from '@sluice/shared/solana/well-known.ts';

/** Base58 digits that stand for 32 bytes, with a first one as high as the prefix has it. */
const digits = 43;

/** `getGenesisHash` of the simulated chain that follows from `origin`, and of no other. */
export function genesisHashOf(origin: string): string {
  const hash = encodeBase58(createHash('sha256').update(origin).digest());
  return `${simnetGenesisPrefix}${hash}`.slice(0, digits);
}
