import { Recent } from '../../runtime/collections/recent.ts';
import { hasPrefix } from '../encoding/bytes.ts';
import { addressBytes, addressWithSeed } from '../addresses/pda.ts';
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
/** Data before and after the seed: tag, base, length of the seed; lamports, space, owner. */
const baseAt = 4;
const lengthAt = baseAt + 32;
const seedAt = lengthAt + 8;
const afterSeed = 8 + 8 + 32;
const seedForm = /^[\w-]{0,32}$/;

const tokenProgramBytes = addressBytes(tokenProgram);
/** Space and owner of the account, as in the data. */
const kind = Buffer.concat([withU64s(new Uint8Array(0), BigInt(tokenAccountBytes)), tokenProgramBytes]);

/** What depends on the wallet alone. Wallets that are cached, about 0.3 KB each. */
const maxWallets = 4_096;
const wallets = new Recent<{ readonly bytes: Uint8Array; readonly initializeData: Uint8Array }>(maxWallets);

function walletParts(owner: string) {
  const known = wallets.get(owner);
  if (known !== undefined) return known;
  const bytes = addressBytes(owner);
  const parts = { bytes, initializeData: Buffer.concat([Uint8Array.of(initializeAccount3Tag), bytes]) };
  wallets.set(owner, parts);
  return parts;
}

export function temporarySol(owner: string, seed: string): TemporarySol {
  return { address: addressWithSeed(walletParts(owner).bytes, seed, tokenProgramBytes), seed };
}

/** Opens the account with these lamports. What it holds beyond its rent is its balance. */
export function openTemporarySol(owner: string, { address, seed }: TemporarySol, lamports: bigint): readonly [Instruction, Instruction] {
  const data = Buffer.alloc(seedAt + seed.length + afterSeed);
  data[0] = createWithSeedTag;
  data.set(walletParts(owner).bytes, baseAt);
  data.writeUInt32LE(seed.length, lengthAt);
  data.write(seed, seedAt, 'latin1');
  data.writeBigUInt64LE(lamports, seedAt + seed.length);
  data.set(kind, seedAt + seed.length + 8);
  const accounts = [signerAccount(owner), writableAccount(address)];
  return [{ programId: systemProgram, accounts, data }, initializeTemporarySol(owner, address)];
}

/** Makes it the wallet's token account. */
export function initializeTemporarySol(owner: string, address: string): Instruction {
  const accounts = [writableAccount(address), readonlyAccount(wrappedSolMint)];
  return { programId: tokenProgram, accounts, data: walletParts(owner).initializeData };
}

/** The account that an instruction opens for this wallet, and the lamports that it moves there; null if it is another instruction. */
export function readTemporarySol(
  { programId, accounts, data }: { readonly programId: string; readonly accounts: readonly string[]; readonly data: Uint8Array },
  owner: string,
): (TemporarySol & { readonly lamports: bigint }) | null {
  const seedBytes = data.length - seedAt - afterSeed;
  if (programId !== systemProgram || accounts.length !== 2 || accounts[0] !== owner || seedBytes < 0) return null;
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.length);
  if (bytes.readUInt32LE(0) !== createWithSeedTag || bytes.readBigUInt64LE(lengthAt) !== BigInt(seedBytes)) return null;
  if (!hasPrefix(bytes.subarray(baseAt), walletParts(owner).bytes) || !bytes.subarray(-kind.length).equals(kind)) return null;
  const seed = bytes.toString('latin1', seedAt, seedAt + seedBytes);
  if (!seedForm.test(seed)) return null;
  const { address } = temporarySol(owner, seed);
  return address === accounts[1] ? { address, seed, lamports: bytes.readBigUInt64LE(seedAt + seedBytes) } : null;
}
