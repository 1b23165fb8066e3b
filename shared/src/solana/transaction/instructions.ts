import type { AccountMeta, Instruction } from './transaction.ts';
import { tokenAddress } from '../addresses/derived.ts';
import { associatedTokenProgram, computeBudgetProgram, systemProgram } from '../well-known.ts';

/** Source: the programs' `instruction.rs`. One tag byte (a u32 for the system program), then little-endian arguments. */
const tag = { computeUnitLimit: 2, computeUnitPrice: 3, systemTransfer: 2, createIdempotent: 1, closeAccount: 9, syncNative: 17 } as const;

export const readonlyAccount = (address: string): AccountMeta => ({ address, signer: false, writable: false });
export const writableAccount = (address: string): AccountMeta => ({ address, signer: false, writable: true });
export const signerAccount = (address: string): AccountMeta => ({ address, signer: true, writable: true });

/** `head`, then a u64 in little-endian order. Throws RangeError if the value is not a u64. */
export function withU64s(head: Uint8Array, ...values: readonly bigint[]): Uint8Array {
  const data = Buffer.alloc(head.length + values.length * 8);
  data.set(head);
  for (const [i, value] of values.entries()) data.writeBigUInt64LE(value, head.length + i * 8);
  return data;
}

/** Maximum number of compute units that the transaction may use. The fee is computed from this limit. */
export function computeUnitLimit(units: number): Instruction {
  const data = Buffer.alloc(5);
  data[0] = tag.computeUnitLimit;
  data.writeUInt32LE(units, 1);
  return { programId: computeBudgetProgram, accounts: [], data };
}

const priceHead = Uint8Array.of(tag.computeUnitPrice);
export function computeUnitPrice(microLamportsPerUnit: bigint): Instruction {
  return { programId: computeBudgetProgram, accounts: [], data: withU64s(priceHead, microLamportsPerUnit) };
}

const transferHead = Uint8Array.of(tag.systemTransfer, 0, 0, 0);
export function transferLamports(from: string, to: string, lamports: bigint): Instruction {
  return { programId: systemProgram, accounts: [signerAccount(from), writableAccount(to)], data: withU64s(transferHead, lamports) };
}

const createData = Uint8Array.of(tag.createIdempotent);
/** Creates the associated token account of `owner`, who pays, if it does not exist yet. */
export function createTokenAccount(owner: string, mint: string, program: string): Instruction {
  return {
    programId: associatedTokenProgram,
    accounts: [
      signerAccount(owner),
      writableAccount(tokenAddress(owner, mint, program)),
      readonlyAccount(owner),
      readonlyAccount(mint),
      readonlyAccount(systemProgram),
      readonlyAccount(program),
    ],
    data: createData,
  };
}

const syncData = Uint8Array.of(tag.syncNative);
/** Counts the lamports that were sent to an account of wrapped SOL as tokens. */
export function syncNative(account: string, program: string): Instruction {
  return { programId: program, accounts: [writableAccount(account)], data: syncData };
}

const closeData = Uint8Array.of(tag.closeAccount);
/** Closes a token account. Its lamports go to its owner. The program refuses an account that still holds other tokens than wrapped SOL. */
export function closeTokenAccount(account: string, owner: string, program: string): Instruction {
  return {
    programId: program,
    accounts: [writableAccount(account), writableAccount(owner), { address: owner, signer: true, writable: false }],
    data: closeData,
  };
}
