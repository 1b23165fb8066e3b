import { addressBytes as decodeAddress, findProgramAddress } from '@sluice/shared/solana/pda.ts';
import { associatedTokenProgram } from '@sluice/shared/solana/well-known.ts';

/** Addresses remembered; each cache is emptied when full, which costs one derivation of each address still in use. */
const maxRemembered = 50_000;

export interface Derived {
  readonly address: string;
  readonly bump: number;
}

const derived = new Map<string, Derived>();
const bytesByAddress = new Map<string, Uint8Array>();

/** The 32 bytes of an address that is known to be one. Shared: not to be written to. */
export function addressBytes(address: string): Uint8Array {
  const known = bytesByAddress.get(address);
  if (known !== undefined) return known;
  const bytes = decodeAddress(address);
  if (bytesByAddress.size >= maxRemembered) bytesByAddress.clear();
  bytesByAddress.set(address, bytes);
  return bytes;
}

/** Program-derived address; text seeds are UTF-8. */
export function derive(programId: string, ...seeds: readonly (string | Uint8Array)[]): Derived {
  const raw = seeds.map((seed) => (typeof seed === 'string' ? Buffer.from(seed) : seed));
  const key = `${programId}:${raw.map((seed) => Buffer.from(seed).toString('latin1')).join('|')}`;
  const known = derived.get(key);
  if (known !== undefined) return known;
  const found = findProgramAddress(raw, programId);
  if (derived.size >= maxRemembered) derived.clear();
  derived.set(key, found);
  return found;
}

export function deriveTokenAccount(owner: string, mint: string, tokenProgramId: string): Derived {
  return derive(associatedTokenProgram, addressBytes(owner), addressBytes(tokenProgramId), addressBytes(mint));
}

/** A function of addresses to an address, remembered (bounded as above). */
export function remember(find: (...addresses: string[]) => string): (...addresses: string[]) => string {
  const known = new Map<string, string>();
  return (...addresses) => {
    const key = addresses.join(':');
    const cached = known.get(key);
    if (cached !== undefined) return cached;
    const found = find(...addresses);
    if (known.size >= maxRemembered) known.clear();
    known.set(key, found);
    return found;
  };
}
