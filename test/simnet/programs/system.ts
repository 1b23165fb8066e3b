import { systemProgram } from '@sluice/shared/solana/well-known.ts';
import type { Instruction } from '@sluice/shared/solana/transaction/transaction.ts';
import type { InstructionAccount } from '../runtime/instruction-account.ts';
import { fail, failCustom } from '../runtime/instruction-error.ts';
import type { InvocationContext, Program } from '../runtime/program.ts';
import { addressBytes, addressWithSeed } from '@sluice/shared/solana/addresses/pda.ts';
import { BorshEnd, BorshReader, BorshWriter } from '../layout/borsh.ts';

const systemUnits = 150;
const maxDataBytes = 10 * 1024 * 1024;
/** SystemError. */
const accountAlreadyInUse = 0;
const resultWithNegativeLamports = 1;
const invalidAccountDataLength = 3;
const addressWithSeedMismatch = 5;

const tag = { createAccount: 0, assign: 1, transfer: 2, createAccountWithSeed: 3, allocate: 8 } as const;

export function transferInstruction(from: string, to: string, lamports: bigint): Instruction {
  return {
    programId: systemProgram,
    accounts: [
      { address: from, signer: true, writable: true },
      { address: to, signer: false, writable: true },
    ],
    data: new BorshWriter().u32(tag.transfer).u64(lamports).done(),
  };
}

export function createAccountInstruction(from: string, to: string, lamports: bigint, space: number, owner: string): Instruction {
  return {
    programId: systemProgram,
    accounts: [
      { address: from, signer: true, writable: true },
      { address: to, signer: true, writable: true },
    ],
    data: new BorshWriter().u32(tag.createAccount).u64(lamports).u64(BigInt(space)).address(owner).done(),
  };
}

export function allocateInstruction(account: string, space: number): Instruction {
  return {
    programId: systemProgram,
    accounts: [{ address: account, signer: true, writable: true }],
    data: new BorshWriter().u32(tag.allocate).u64(BigInt(space)).done(),
  };
}

export function assignInstruction(account: string, owner: string): Instruction {
  return {
    programId: systemProgram,
    accounts: [{ address: account, signer: true, writable: true }],
    data: new BorshWriter().u32(tag.assign).address(owner).done(),
  };
}

function transfer(context: InvocationContext, lamports: bigint): void {
  const from = context.account(0);
  const to = context.account(1);
  if (!from.signer) {
    context.plainLog(`Transfer: \`from\` account ${from.address} must sign`);
    fail('MissingRequiredSignature');
  }
  if (from.data.length > 0) {
    context.plainLog('Transfer: `from` must not carry data');
    fail('InvalidArgument');
  }
  if (lamports > from.lamports) {
    context.plainLog(`Transfer: insufficient lamports ${from.lamports}, need ${lamports}`);
    failCustom(resultWithNegativeLamports);
  }
  from.debit(lamports);
  to.credit(lamports);
}

/** As the program logs an account; the base signs in place of an account whose address is derived from it. */
const named = ({ address }: InstructionAccount, base: string | null): string =>
  `Address { address: ${address}, base: ${base === null ? 'None' : `Some(${base})`} }`;

function isSigned({ accounts }: InvocationContext, account: InstructionAccount, base: string | null): boolean {
  return base === null ? account.signer : accounts.some(({ address, signer }) => signer && address === base);
}

function allocate(context: InvocationContext, account: InstructionAccount, space: bigint, base: string | null = null): void {
  if (!isSigned(context, account, base)) {
    context.plainLog(`Allocate: 'to' account ${named(account, base)} must sign`);
    fail('MissingRequiredSignature');
  }
  if (account.data.length > 0 || account.owner !== systemProgram) {
    context.plainLog(`Allocate: account ${named(account, base)} already in use`);
    failCustom(accountAlreadyInUse);
  }
  if (space > BigInt(maxDataBytes)) failCustom(invalidAccountDataLength);
  account.allocate(Number(space));
}

function assign(context: InvocationContext, account: InstructionAccount, owner: string, base: string | null = null): void {
  if (account.owner === owner) return;
  if (!isSigned(context, account, base)) {
    context.plainLog(`Assign: account ${named(account, base)} must sign`);
    fail('MissingRequiredSignature');
  }
  account.assign(owner);
}

function createAccount(context: InvocationContext, lamports: bigint, space: bigint, owner: string, base: string | null = null): void {
  const to = context.account(1);
  if (to.lamports > 0n) {
    context.plainLog(`Create Account: account ${named(to, base)} already in use`);
    failCustom(accountAlreadyInUse);
  }
  allocate(context, to, space, base);
  assign(context, to, owner, base);
  transfer(context, lamports);
}

function createAccountWithSeed(context: InvocationContext, reader: BorshReader): void {
  const base = reader.address();
  const seed = Buffer.from(reader.bytes(Number(reader.u64()))).toString();
  const [lamports, space, owner] = [reader.u64(), reader.u64(), reader.address()];
  const { address } = context.account(1);
  const derived = addressWithSeed(addressBytes(base), seed, addressBytes(owner));
  if (address !== derived) {
    context.plainLog(`Create: address ${address} does not match derived address ${derived}`);
    failCustom(addressWithSeedMismatch);
  }
  createAccount(context, lamports, space, owner, base);
}

/** The system program: createAccount with and without a seed, assign, transfer, allocate. */
export const system: Program = {
  builtin: true,
  execute(context) {
    context.consume(systemUnits);
    const reader = new BorshReader(context.data);
    try {
      const kind = reader.u32();
      if (kind === tag.createAccount) createAccount(context, reader.u64(), reader.u64(), reader.address());
      else if (kind === tag.assign) assign(context, context.account(0), reader.address());
      else if (kind === tag.transfer) transfer(context, reader.u64());
      else if (kind === tag.createAccountWithSeed) createAccountWithSeed(context, reader);
      else if (kind === tag.allocate) allocate(context, context.account(0), reader.u64());
      else fail('InvalidInstructionData');
    } catch (error) {
      if (error instanceof BorshEnd) fail('InvalidInstructionData');
      throw error;
    }
  },
};
