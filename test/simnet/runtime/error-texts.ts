import type { TransactionErrorJson } from '../chain.ts';
import { instructionErrorText, type InstructionErrorJson } from './instruction-error.ts';

const texts: Readonly<Record<string, string>> = {
  AccountNotFound: 'Attempt to debit an account but found no record of a prior credit.',
  ProgramAccountNotFound: 'Attempt to load a program that does not exist',
  InsufficientFundsForFee: 'Insufficient funds for fee',
  InvalidAccountForFee: 'This account may not be used to pay transaction fees',
  AlreadyProcessed: 'This transaction has already been processed',
  BlockhashNotFound: 'Blockhash not found',
  SanitizeFailure: 'Transaction failed to sanitize accounts offsets correctly',
  SignatureFailure: 'Transaction did not pass signature verification',
  InvalidProgramForExecution: 'This program may not be used for executing instructions',
  AccountLoadedTwice: 'Account loaded twice',
  TooManyAccountLocks: 'Transaction locked too many accounts',
  AddressLookupTableNotFound: "Transaction loads an address table account that doesn't exist",
  MaxLoadedAccountsDataSizeExceeded: 'Transaction exceeded max loaded accounts data size cap',
  InvalidLoadedAccountsDataSizeLimit: 'LoadedAccountsDataSizeLimit set for transaction must be greater than 0.',
};

/** A transaction error in the node's wording, as in the message of `sendTransaction`. */
export function transactionErrorText(err: TransactionErrorJson): string {
  if (typeof err === 'string') return texts[err] ?? err;
  const instruction = err['InstructionError'];
  if (Array.isArray(instruction)) {
    const [index, error] = instruction as [number, InstructionErrorJson];
    return `Error processing Instruction ${index}: ${instructionErrorText(error)}`;
  }
  const rent = err['InsufficientFundsForRent'] as { readonly account_index: number } | undefined;
  if (rent !== undefined) return `Transaction results in an account (${rent.account_index}) with insufficient funds for rent`;
  return JSON.stringify(err);
}
