import { PublicKey, type TransactionInstruction } from '@solana/web3.js';
import type { Instruction } from '@sluice/shared/solana/transaction/transaction.ts';
import type { ChainAccount } from '../chain.ts';

export const key = (address: string): PublicKey => new PublicKey(address);

/** An instruction of web3.js in the form that the message compiler accepts. */
export function fromWeb3(instruction: TransactionInstruction): Instruction {
  return {
    programId: instruction.programId.toBase58(),
    accounts: instruction.keys.map(({ pubkey, isSigner, isWritable }) => ({
      address: pubkey.toBase58(),
      signer: isSigner,
      writable: isWritable,
    })),
    data: instruction.data,
  };
}

/** An account as web3.js gives it. */
export function accountInfo(account: ChainAccount | null) {
  if (account === null) throw new Error('the account does not exist');
  const { executable, data, owner } = account;
  return { executable, data: Buffer.from(data), owner: key(owner), lamports: Number(account.lamports), rentEpoch: 0 };
}
