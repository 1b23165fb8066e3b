import type { Instruction } from '@sluice/shared/solana/transaction/transaction.ts';
import { associatedTokenProgram, systemProgram } from '@sluice/shared/solana/well-known.ts';
import { minimumBalance } from '../../ledger/rent.ts';
import { addressBytes, deriveTokenAccount } from '../../layout/derive.ts';
import type { InstructionAccount } from '../../runtime/instruction-account.ts';
import { fail, failCustom } from '../../runtime/instruction-error.ts';
import type { InvocationContext, Program } from '../../runtime/program.ts';
import { allocateInstruction, assignInstruction, createAccountInstruction, transferInstruction } from '../system.ts';
import { accountDataSizeInstruction, initializeAccount3Instruction, initializeImmutableOwnerInstruction } from './token-instructions.ts';
import { extension, isTokenAccountData, isTokenProgram, tokenFields } from '../../layout/token-state.ts';

const existingUnits = 5_857;
const creatingUnits = 9_600;
const invalidOwner = 0;

const tag = { create: 0, createIdempotent: 1 } as const;

/** Creates the associated token account. With `idempotent`, the account may already exist. */
export function associatedTokenInstruction(
  payer: string,
  owner: string,
  mint: string,
  tokenProgramId: string,
  idempotent: boolean,
): Instruction {
  const account = deriveTokenAccount(owner, mint, tokenProgramId).address;
  return {
    programId: associatedTokenProgram,
    accounts: [
      { address: payer, signer: true, writable: true },
      { address: account, signer: false, writable: true },
      { address: owner, signer: false, writable: false },
      { address: mint, signer: false, writable: false },
      { address: systemProgram, signer: false, writable: false },
      { address: tokenProgramId, signer: false, writable: false },
    ],
    data: Uint8Array.of(idempotent ? tag.createIdempotent : tag.create),
  };
}

/** Creates a program-derived account in the way that also works if somebody has sent lamports there before. */
function createDerived(context: InvocationContext, account: InstructionAccount, payer: string, space: number): void {
  const owner = context.account(2).address;
  const mint = context.account(3).address;
  const tokenProgramId = context.account(5).address;
  const seeds = [addressBytes(owner), addressBytes(tokenProgramId), addressBytes(mint)];
  const rent = minimumBalance(space);
  if (account.lamports === 0n) {
    context.invoke(createAccountInstruction(payer, account.address, rent, space, tokenProgramId), [seeds]);
    return;
  }
  if (account.lamports < rent) context.invoke(transferInstruction(payer, account.address, rent - account.lamports));
  context.invoke(allocateInstruction(account.address, space), [seeds]);
  context.invoke(assignInstruction(account.address, tokenProgramId), [seeds]);
}

function create(context: InvocationContext, idempotent: boolean): void {
  context.log(idempotent ? 'CreateIdempotent' : 'Create');
  const payer = context.account(0);
  const account = context.account(1);
  const owner = context.account(2);
  const mint = context.account(3);
  const tokenProgramId = context.account(5).address;
  const expected = deriveTokenAccount(owner.address, mint.address, tokenProgramId);
  if (expected.address !== account.address) {
    context.log('Error: Associated address does not match seed derivation');
    fail('InvalidSeeds');
  }
  if (idempotent && account.owner === tokenProgramId && isTokenAccountData(account.owner, account.data)) {
    context.consume(existingUnits);
    if (tokenFields.owner(account.data) !== owner.address) failCustom(invalidOwner);
    if (tokenFields.mint(account.data) !== mint.address) fail('InvalidAccountData');
    return;
  }
  context.consume(creatingUnits);
  if (account.owner !== systemProgram) fail('IllegalOwner');
  if (!isTokenProgram(tokenProgramId)) fail('IncorrectProgramId');
  context.invoke(accountDataSizeInstruction(tokenProgramId, mint.address, extension.immutableOwner));
  const returned = context.returnData();
  if (returned?.programId !== tokenProgramId) return fail('InvalidInstructionData');
  const space = Number(Buffer.from(returned.data).readBigUInt64LE(0));
  createDerived(context, account, payer.address, space);
  context.log('Initialize the associated token account');
  context.invoke(initializeImmutableOwnerInstruction(tokenProgramId, account.address));
  context.invoke(initializeAccount3Instruction(tokenProgramId, account.address, mint.address, owner.address));
}

export const associatedToken: Program = {
  builtin: false,
  execute(context) {
    const kind = context.data[0] ?? tag.create;
    if (kind !== tag.create && kind !== tag.createIdempotent) fail('InvalidInstructionData');
    create(context, kind === tag.createIdempotent);
  },
};
