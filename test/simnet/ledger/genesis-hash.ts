import { createHash } from 'node:crypto';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { simnetGenesisPrefix } from '@sluice/shared/solana/well-known.ts';

/** Base58 digits that encode 32 bytes. The first digit is at most that of the prefix. */
const digits = 43;

/** `getGenesisHash` of the simulated chain for this `origin`. Another origin gives another hash. */
export function genesisHashOf(origin: string): string {
  const hash = encodeBase58(createHash('sha256').update(origin).digest());
  return `${simnetGenesisPrefix}${hash}`.slice(0, digits);
}
