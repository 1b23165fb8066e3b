import { systemProgram } from '@sluice/shared/solana/well-known.ts';
import type { ChainAccount } from '../chain.ts';

const noData = new Uint8Array(0);

/** One account of a transaction while it executes. Only the runtime and the checks in `InstructionAccount` change it. */
export interface TransactionAccount {
  readonly address: string;
  readonly signer: boolean;
  readonly writable: boolean;
  readonly original: ChainAccount | null;
  lamports: bigint;
  owner: string;
  data: Uint8Array;
  executable: boolean;
  /** The data was copied from the store and may be written in place. */
  copied: boolean;
}

export function loadTransactionAccount(
  address: string,
  signer: boolean,
  writable: boolean,
  original: ChainAccount | null,
): TransactionAccount {
  return {
    address,
    signer,
    writable,
    original,
    lamports: original?.lamports ?? 0n,
    owner: original?.owner ?? systemProgram,
    data: original?.data ?? noData,
    executable: original?.executable ?? false,
    copied: false,
  };
}

/** Whether the account differs from the loaded one. */
export function isChanged(account: TransactionAccount): boolean {
  const { original } = account;
  if (original === null) return account.lamports !== 0n;
  return account.lamports !== original.lamports || account.owner !== original.owner || account.copied;
}

/** The account to store; null if it is empty. */
export function storedForm(account: TransactionAccount): ChainAccount | null {
  if (account.lamports === 0n) return null;
  return { lamports: account.lamports, owner: account.owner, data: account.data, executable: account.executable };
}
