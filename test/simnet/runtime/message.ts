import type { DecodedTransaction, Instruction } from '@sluice/shared/solana/transaction/transaction.ts';
import { clockSysvar, computeBudgetProgram, rentSysvar, systemProgram } from '@sluice/shared/solana/well-known.ts';

/** Accounts that no transaction may write, even if its header says so. */
const reservedAddresses: ReadonlySet<string> = new Set([systemProgram, computeBudgetProgram, rentSysvar, clockSysvar]);

export interface MessageKey {
  readonly address: string;
  readonly signer: boolean;
  readonly writable: boolean;
}

/** The message's accounts with their privileges. Called programs are read-only. */
export function messageKeys(transaction: DecodedTransaction): readonly MessageKey[] {
  const { header, accountKeys } = transaction;
  const called = new Set(transaction.instructions.map((instruction) => accountKeys[instruction.programIdIndex]));
  return accountKeys.map((address, index) => {
    const signer = index < header.requiredSignatures;
    const writable = signer
      ? index < header.requiredSignatures - header.readonlySigned
      : index < accountKeys.length - header.readonlyUnsigned;
    return { address, signer, writable: writable && !called.has(address) && !reservedAddresses.has(address) };
  });
}

/** Top-level instructions with addresses instead of indexes. The decoder has checked the indexes. */
export function messageInstructions(transaction: DecodedTransaction, keys: readonly MessageKey[]): readonly Instruction[] {
  return transaction.instructions.map((instruction) => ({
    programId: transaction.accountKeys[instruction.programIdIndex] ?? systemProgram,
    accounts: instruction.accountIndexes.flatMap((index) => keys[index] ?? []),
    data: instruction.data,
  }));
}
