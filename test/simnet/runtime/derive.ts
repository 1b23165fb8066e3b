import { addressBytes as decodeAddress, findProgramAddress } from '@sluice/shared/solana/pda.ts';
import { associatedTokenProgram } from '@sluice/shared/solana/well-known.ts';

/** Addresses remembered; each cache is emptied when full, which costs one derivation of each address still in use. */
const maxRemembered = 50_000;

export interface Derived {
  readonly address: string;
  readonly bump: number;
}

const derived = new Map<string, Derived>();
const tokenAccounts = new Map<string, Derived>();
const bytesByAddress = new Map<string, Uint8Array>();
/** Bytes that `addressBytes` gave, as a part of the key of `derived`. */
const keyParts = new WeakMap<Uint8Array, string>();

function latin1Of(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}

/** The 32 bytes of an address that is known to be one. Shared: not to be written to. */
export function addressBytes(address: string): Uint8Array {
  const known = bytesByAddress.get(address);
  if (known !== undefined) return known;
  const bytes = decodeAddress(address);
  if (bytesByAddress.size >= maxRemembered) bytesByAddress.clear();
  bytesByAddress.set(address, bytes);
  keyParts.set(bytes, latin1Of(bytes));
  return bytes;
}

/** Program-derived address; text seeds are UTF-8. */
export function derive(programId: string, ...seeds: readonly (string | Uint8Array)[]): Derived {
  let key = programId;
  for (const seed of seeds) key += `|${typeof seed === 'string' ? seed : (keyParts.get(seed) ?? latin1Of(seed))}`;
  const known = derived.get(key);
  if (known !== undefined) return known;
  const found = findProgramAddress(
    seeds.map((seed) => (typeof seed === 'string' ? Buffer.from(seed) : seed)),
    programId,
  );
  if (derived.size >= maxRemembered) derived.clear();
  derived.set(key, found);
  return found;
}

export function deriveTokenAccount(owner: string, mint: string, tokenProgramId: string): Derived {
  const key = `${owner} ${tokenProgramId} ${mint}`;
  const known = tokenAccounts.get(key);
  if (known !== undefined) return known;
  const found = derive(associatedTokenProgram, addressBytes(owner), addressBytes(tokenProgramId), addressBytes(mint));
  if (tokenAccounts.size >= maxRemembered) tokenAccounts.clear();
  tokenAccounts.set(key, found);
  return found;
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
