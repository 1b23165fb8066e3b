import { addressBytes, addressWithSeed } from '../pda.ts';
import { tokenAccountBytes } from '../tokens/token-account.ts';
import { systemProgram, tokenProgram, wrappedSolMint } from '../well-known.ts';
import { readonlyAccount, signerAccount, withU64s, writableAccount } from './instructions.ts';
import type { Instruction } from './transaction.ts';

/**
 * An account in which one transaction wraps SOL. The transaction opens and closes it, so the wallet's associated account of wrapped SOL stays
 * as it is. Its address is derived from the wallet and a seed, so only the wallet can open it. Nobody can predict a random seed; who could, would
 * prevent the opening by sending SOL to the address.
 */
export interface TemporarySol {
  readonly address: string;
  readonly seed: string;
}

/** `createAccountWithSeed` of the system program and `initializeAccount3` of the token program. */
const createWithSeedTag = 3;
const initializeAccount3Tag = 18;
/** Data before and after the seed: tag and base, length of the seed; lamports, space, owner. */
const seedAt = 4 + 32 + 8;
const afterSeed = 8 + 8 + 32;

export function temporarySol(owner: string, seed: string): TemporarySol {
  return { address: addressWithSeed(owner, seed, tokenProgram), seed };
}

/** Opens the account with these lamports. What it holds beyond its rent is its balance. */
export function openTemporarySol(owner: string, { address, seed }: TemporarySol, lamports: bigint): readonly [Instruction, Instruction] {
  const head = Buffer.concat([Uint8Array.of(createWithSeedTag, 0, 0, 0), addressBytes(owner)]);
  const seeded = Buffer.concat([withU64s(head, BigInt(seed.length)), Buffer.from(seed, 'latin1')]);
  const create = Buffer.concat([withU64s(seeded, lamports, BigInt(tokenAccountBytes)), addressBytes(tokenProgram)]);
  const accounts = [signerAccount(owner), writableAccount(address)];
  return [{ programId: systemProgram, accounts, data: create }, initializeTemporarySol(owner, address)];
}

/** Makes it the wallet's token account. */
export function initializeTemporarySol(owner: string, address: string): Instruction {
  const data = Buffer.concat([Uint8Array.of(initializeAccount3Tag), addressBytes(owner)]);
  return { programId: tokenProgram, accounts: [writableAccount(address), readonlyAccount(wrappedSolMint)], data };
}

/** The account that an instruction opens for this wallet, and the lamports that it moves there; null if it is another instruction. */
export function readTemporarySol(
  { programId, accounts, data }: { readonly programId: string; readonly accounts: readonly string[]; readonly data: Uint8Array },
  owner: string,
): (TemporarySol & { readonly lamports: bigint }) | null {
  if (programId !== systemProgram || accounts.length !== 2 || data.length < seedAt + afterSeed) return null;
  const view = new DataView(data.buffer, data.byteOffset, data.length);
  const seedBytes = data.length - seedAt - afterSeed;
  const seed = Buffer.from(data.subarray(seedAt, seedAt + seedBytes)).toString('latin1');
  if (!/^[\w-]{0,32}$/.test(seed)) return null;
  const account = temporarySol(owner, seed);
  const lamports = view.getBigUint64(seedAt + seedBytes, true);
  const [create] = openTemporarySol(owner, account, lamports);
  const isSame = Buffer.compare(data, create.data) === 0 && create.accounts.every(({ address }, index) => accounts[index] === address);
  return isSame ? { ...account, lamports } : null;
}
