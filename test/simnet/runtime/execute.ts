import type { DecodedTransaction, Instruction } from '@sluice/shared/solana/transaction/transaction.ts';
import { systemProgram } from '@sluice/shared/solana/well-known.ts';
import type { ChainAccount, Execution, InnerInstruction, TransactionErrorJson } from '../chain.ts';
import { minimumBalance } from '../ledger/rent.ts';
import { computeBudgetOf, priorityFee, type ComputeBudget } from './compute-budget.ts';
import { ProgramFailure } from './instruction-error.ts';
import { Invocation } from './invocation.ts';
import { messageInstructions, messageKeys, type MessageKey } from './message.ts';
import type { ClockReading, ProgramTable } from './program.ts';
import { tokenBalances, type AccountReader } from './token-balances.ts';
import { isChanged, loadTransactionAccount, storedForm, type TransactionAccount } from './transaction-accounts.ts';

const lamportsPerSignature = 5_000n;
const maxLockedAccounts = 64;
const v1DefaultUnits = 200_000;

export interface Bank {
  readonly programs: ProgramTable;
  readonly clock: ClockReading;
  account(address: string): ChainAccount | null;
}

export interface Outcome {
  readonly execution: Execution;
  /** The transaction pays its fee and is in the block. If false, it leaves no trace. */
  readonly landed: boolean;
  /** What to store: every change on success, only the fee on failure. Null removes an account. */
  readonly commit: ReadonlyMap<string, ChainAccount | null>;
  readonly fee: bigint;
  /** Micro-lamports for each compute unit. */
  readonly unitPrice: bigint;
  readonly keys: readonly MessageKey[];
}

const noAccounts: ReadonlyMap<string, ChainAccount> = new Map();

/** Of bytes that are not a transaction. */
export const unreadableExecution: Execution = {
  err: 'SanitizeFailure',
  logs: [],
  unitsConsumed: 0,
  fee: 0n,
  innerInstructions: [],
  accountKeys: [],
  preBalances: [],
  postBalances: [],
  preTokenBalances: [],
  postTokenBalances: [],
  returnData: null,
  written: new Map(),
};

function refused(keys: readonly MessageKey[], err: TransactionErrorJson): Outcome {
  const execution: Execution = {
    err,
    logs: [],
    unitsConsumed: 0,
    fee: 0n,
    innerInstructions: [],
    accountKeys: keys.map((key) => key.address),
    preBalances: [],
    postBalances: [],
    preTokenBalances: [],
    postTokenBalances: [],
    returnData: null,
    written: noAccounts,
  };
  return { execution, landed: false, commit: noAccounts, fee: 0n, unitPrice: 0n, keys };
}

/** An outcome before execution: the transaction cannot be processed and pays nothing. */
export function refusedTransaction(transaction: DecodedTransaction, err: TransactionErrorJson): Outcome {
  return refused(messageKeys(transaction), err);
}

/** Null if the message is valid. */
function messageFault(transaction: DecodedTransaction, keys: readonly MessageKey[]): TransactionErrorJson | null {
  if (transaction.addressTableLookups.length > 0) return 'AddressLookupTableNotFound';
  if (new Set(transaction.accountKeys).size !== keys.length) return 'AccountLoadedTwice';
  if (keys.length > maxLockedAccounts) return 'TooManyAccountLocks';
  return null;
}

function budgetOf(transaction: DecodedTransaction, instructions: readonly Instruction[]): ReturnType<typeof computeBudgetOf> {
  if (transaction.version !== 1) return computeBudgetOf(instructions);
  const { config } = transaction;
  const unitLimit = config.computeUnitLimit ?? Math.max(instructions.length, 1) * v1DefaultUnits;
  const lamports = config.priorityFeeLamports ?? 0n;
  return {
    ok: true,
    budget: {
      unitLimit,
      microLamportsPerUnit: unitLimit === 0 ? 0n : (lamports * 1_000_000n) / BigInt(unitLimit),
      // A v1 header that names no limit asks for zero bytes.
      loadedAccountsDataSizeLimit: config.loadedAccountsBytesLimit ?? 0,
    },
  };
}

/** Whether the fee payer can pay and then is rent exempt or has exactly nothing left. */
function feePayerFault(payer: ChainAccount | null, fee: bigint): TransactionErrorJson | null {
  if (payer === null) return 'AccountNotFound';
  if (payer.owner !== systemProgram || payer.data.length > 0) return 'InvalidAccountForFee';
  if (payer.lamports < fee) return 'InsufficientFundsForFee';
  const left = payer.lamports - fee;
  if (left !== 0n && left < minimumBalance(0)) return { InsufficientFundsForRent: { account_index: 0 } };
  return null;
}

/** A transaction that cannot be loaded lands and pays its fee, but is not executed. */
function loadFault(
  bank: Bank,
  keys: readonly MessageKey[],
  instructions: readonly Instruction[],
  limit: number,
): TransactionErrorJson | null {
  let bytes = 0;
  for (const { address } of keys) bytes += bank.programs.get(address)?.loadedBytes ?? bank.account(address)?.data.length ?? 0;
  if (bytes > limit) return 'MaxLoadedAccountsDataSizeExceeded';
  for (const { programId } of instructions) {
    if (bank.programs.has(programId)) continue;
    return bank.account(programId) === null ? 'ProgramAccountNotFound' : 'InvalidProgramForExecution';
  }
  return null;
}

/** A written account must be rent exempt, or empty, or must not have lost lamports or grown. */
function rentFault(keys: readonly MessageKey[], accounts: ReadonlyMap<string, TransactionAccount>): TransactionErrorJson | null {
  for (const [index, key] of keys.entries()) {
    const account = accounts.get(key.address);
    if (account === undefined || !key.writable || account.lamports === 0n) continue;
    if (account.lamports >= minimumBalance(account.data.length)) continue;
    const before = account.original;
    if (before !== null && account.lamports >= before.lamports && account.data.length <= before.data.length) continue;
    return { InsufficientFundsForRent: { account_index: index } };
  }
  return null;
}

interface Run {
  readonly err: TransactionErrorJson | null;
  readonly invocation: Invocation;
  readonly inner: readonly { readonly index: number; readonly instructions: readonly InnerInstruction[] }[];
}

function runInstructions(
  bank: Bank,
  instructions: readonly Instruction[],
  accounts: ReadonlyMap<string, TransactionAccount>,
  budget: ComputeBudget,
): Run {
  const invocation = new Invocation(bank.programs, accounts, bank.clock, budget.unitLimit);
  const inner: { index: number; instructions: readonly InnerInstruction[] }[] = [];
  for (const [index, instruction] of instructions.entries()) {
    let err: TransactionErrorJson | null = null;
    try {
      invocation.runTopLevel(instruction);
    } catch (error) {
      if (!(error instanceof ProgramFailure)) throw error;
      err = { InstructionError: [index, error.error] };
    }
    const called = invocation.takeInner();
    if (called.length > 0) inner.push({ index, instructions: called });
    if (err !== null) return { err, invocation, inner };
  }
  return { err: null, invocation, inner };
}

/** The accounts reported as written: those that changed, on success only. */
function changes(accounts: ReadonlyMap<string, TransactionAccount>): Map<string, ChainAccount | null> {
  const changed = new Map<string, ChainAccount | null>();
  for (const account of accounts.values()) if (isChanged(account)) changed.set(account.address, storedForm(account));
  return changed;
}

function emptied(): ChainAccount {
  return { lamports: 0n, owner: systemProgram, data: new Uint8Array(0), executable: false };
}

/**
 * Executes a transaction whose signatures, blockhash and novelty the bank has checked. Changes nothing: the caller stores `commit`. A
 * refusal before execution has `landed: false`.
 */
export function executeTransaction(bank: Bank, transaction: DecodedTransaction): Outcome {
  const keys = messageKeys(transaction);
  const fault = messageFault(transaction, keys);
  if (fault !== null) return refused(keys, fault);
  const instructions = messageInstructions(transaction, keys);
  const asked = budgetOf(transaction, instructions);
  if (!asked.ok) return refused(keys, asked.err);
  const { budget } = asked;
  const fee = lamportsPerSignature * BigInt(transaction.header.requiredSignatures) + priorityFee(budget);
  const payerAddress = transaction.accountKeys[0] ?? systemProgram;
  const payer = bank.account(payerAddress);
  const payerFault = feePayerFault(payer, fee);
  if (payerFault !== null) return refused(keys, payerFault);

  const originals = new Map(keys.map((key) => [key.address, bank.account(key.address)]));
  const accounts = new Map(
    keys.map((key) => [key.address, loadTransactionAccount(key.address, key.signer, key.writable, originals.get(key.address) ?? null)]),
  );
  const feePayer = accounts.get(payerAddress);
  if (feePayer !== undefined) feePayer.lamports -= fee;
  const accountKeys = keys.map((key) => key.address);
  const before: AccountReader = (address) => originals.get(address) ?? bank.account(address);
  const unloadable = loadFault(bank, keys, instructions, budget.loadedAccountsDataSizeLimit);
  const run = runInstructions(bank, unloadable === null ? instructions : [], accounts, budget);
  const err = unloadable ?? run.err ?? rentFault(keys, accounts);
  const commit = err === null ? changes(accounts) : feeOnly(payerAddress, payer, fee);
  const after: AccountReader = (address) => (commit.has(address) ? (commit.get(address) ?? null) : bank.account(address));
  const balances = tokenBalances(accountKeys, before, after);
  const written = new Map([...commit].map(([address, account]) => [address, account ?? emptied()] as const));
  const execution: Execution = {
    err,
    logs: run.invocation.logs.lines,
    unitsConsumed: run.invocation.unitsConsumed,
    fee,
    innerInstructions: run.inner,
    accountKeys,
    preBalances: keys.map((key) => originals.get(key.address)?.lamports ?? 0n),
    postBalances: keys.map((key) => lamportsOf(commit, key.address, originals.get(key.address) ?? null)),
    preTokenBalances: balances.pre,
    postTokenBalances: balances.post,
    returnData: run.invocation.returnData,
    written: err === null ? written : noAccounts,
  };
  return { execution, landed: true, commit, fee, unitPrice: budget.microLamportsPerUnit, keys };
}

function lamportsOf(commit: ReadonlyMap<string, ChainAccount | null>, address: string, original: ChainAccount | null): bigint {
  return (commit.has(address) ? commit.get(address)?.lamports : original?.lamports) ?? 0n;
}

function feeOnly(address: string, payer: ChainAccount | null, fee: bigint): Map<string, ChainAccount | null> {
  if (payer === null) return new Map();
  const lamports = payer.lamports - fee;
  return new Map([[address, lamports === 0n ? null : { ...payer, lamports }]]);
}
