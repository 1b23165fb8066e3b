import { Recent } from '@sluice/shared/runtime/collections/recent.ts';
import { addressBytes as decodeAddress, findProgramAddress } from '@sluice/shared/solana/addresses/pda.ts';
import { associatedTokenProgram } from '@sluice/shared/solana/well-known.ts';

/** Addresses in each cache, about 0.4 KB each. A dropped one is derived again, in about 30 µs. */
const maxRemembered = 8_192;

export interface Derived {
  readonly address: string;
  readonly bump: number;
}

const derived = new Recent<Derived>(maxRemembered);
const tokenAccounts = new Recent<Derived>(maxRemembered);
const bytesByAddress = new Recent<Uint8Array>(maxRemembered);
/** Bytes that `addressBytes` returned, as a part of the key of `derived`. */
const keyParts = new WeakMap<Uint8Array, string>();

function latin1Of(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}

/** The 32 bytes of an address that is known to be valid. The array is shared: do not write to it. */
export function addressBytes(address: string): Uint8Array {
  const known = bytesByAddress.get(address);
  if (known !== undefined) return known;
  const bytes = decodeAddress(address);
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
  derived.set(key, found);
  return found;
}

export function deriveTokenAccount(owner: string, mint: string, tokenProgramId: string): Derived {
  const key = `${owner} ${tokenProgramId} ${mint}`;
  const known = tokenAccounts.get(key);
  if (known !== undefined) return known;
  const found = findProgramAddress([owner, tokenProgramId, mint].map(addressBytes), associatedTokenProgram);
  tokenAccounts.set(key, found);
  return found;
}

/** Caches a function of addresses that returns an address (bounded as above). */
export function remember(find: (...addresses: string[]) => string): (...addresses: string[]) => string {
  const known = new Recent<string>(maxRemembered);
  return (...addresses) => {
    const key = addresses.join(':');
    const cached = known.get(key);
    if (cached !== undefined) return cached;
    const found = find(...addresses);
    known.set(key, found);
    return found;
  };
}
