import type { Instruction } from '@sluice/shared/solana/transaction/transaction.ts';
import { metadataProgram, rentSysvar, systemProgram } from '@sluice/shared/solana/well-known.ts';
import { minimumBalance } from '../../ledger/rent.ts';
import { addressBytes, derive } from '../../layout/derive.ts';
import { fail } from '../../runtime/instruction-error.ts';
import type { InvocationContext, Program } from '../../runtime/program.ts';
import { BorshReader, BorshWriter } from '../../layout/borsh.ts';
import { createAccountInstruction } from '../system.ts';
import type { MetadataText } from './token-instructions.ts';
import { isMint, mintFields } from '../../layout/token-state.ts';

/** CreateMetadataAccountV3. */
const createTag = 33;
const createUnits = 28_000;
const metadataKey = 4;
const metadataBytes = 607;
const nameBytes = 32;
const symbolBytes = 10;
const uriBytes = 200;

function seedsOf(mint: string): readonly (string | Uint8Array)[] {
  return ['metadata', addressBytes(metadataProgram), addressBytes(mint)];
}

export function metadataAddress(mint: string): string {
  return derive(metadataProgram, ...seedsOf(mint)).address;
}

export function createMetadataInstruction(mint: string, authority: string, payer: string, text: MetadataText): Instruction {
  const readonly = (address: string, signer = false) => ({ address, signer, writable: false });
  return {
    programId: metadataProgram,
    accounts: [
      { address: metadataAddress(mint), signer: false, writable: true },
      readonly(mint),
      readonly(authority, true),
      { address: payer, signer: true, writable: true },
      readonly(authority),
      readonly(systemProgram),
      readonly(rentSysvar),
    ],
    // Data (text, no seller fee, no creators, collection or uses), not mutable, no collection details.
    data: new BorshWriter().u8(createTag).string(text.name).string(text.symbol).string(text.uri).u16(0).zeros(5).done(),
  };
}

function padded(text: string, bytes: number): string {
  return text + '\0'.repeat(Math.max(0, bytes - Buffer.byteLength(text)));
}

function createMetadata(context: InvocationContext): void {
  const account = context.account(0);
  const mint = context.account(1);
  const authority = context.account(2);
  const payer = context.account(3);
  if (account.address !== metadataAddress(mint.address)) fail('InvalidSeeds');
  if (!isMint(mint.owner, mint.data) || mintFields.authority(mint.data) !== authority.address) fail('InvalidArgument');
  if (!authority.signer) fail('MissingRequiredSignature');
  if (account.exists) fail('AccountAlreadyInitialized');
  const reader = new BorshReader(context.data, 1);
  const rent = minimumBalance(metadataBytes);
  context.invoke(createAccountInstruction(payer.address, account.address, rent, metadataBytes, metadataProgram), [seedsOf(mint.address)]);
  account
    .write()
    .set(
      new BorshWriter()
        .u8(metadataKey)
        .address(context.account(4).address)
        .address(mint.address)
        .string(padded(reader.string(), nameBytes))
        .string(padded(reader.string(), symbolBytes))
        .string(padded(reader.string(), uriBytes))
        .u16(reader.u16())
        .done(),
    );
}

/** Token metadata, as far as the older creation instruction uses it. */
export const metaplex: Program = {
  builtin: false,
  execute(context) {
    if (context.data[0] !== createTag) fail('InvalidInstructionData');
    context.log('IX: Create Metadata Accounts v3');
    context.consume(createUnits);
    createMetadata(context);
  },
};
