import { minimumBalance } from '../../ledger/rent.ts';
import { fail } from '../../runtime/instruction-error.ts';
import type { InvocationContext } from '../../runtime/program.ts';
import { BorshReader, BorshWriter } from '../../layout/borsh.ts';
import { metadataTag } from './token-instructions.ts';
import { extension, extensionsEnd, findExtension, isMint, mintFields, putExtension } from '../../layout/token-state.ts';
import { accountTypeOffset } from '../../layout/token-state.ts';

const initializeUnits = 3514;
const updateAuthorityUnits = 3871;
const tagBytes = 8;

function startsWith(data: Uint8Array, tag: Uint8Array): boolean {
  return data.length >= tag.length && tag.every((byte, i) => data[i] === byte);
}

export function isMetadataInstruction(data: Uint8Array): boolean {
  return startsWith(data, metadataTag.initialize) || startsWith(data, metadataTag.updateAuthority);
}

/** MetadataPointer: authority and metadata address, written before the mint is initialized. */
export function initializeMetadataPointer(context: InvocationContext, reader: BorshReader): void {
  if (reader.u8() !== 0) fail('InvalidInstructionData');
  const value = reader.bytes(64);
  const mint = context.account(0);
  if (mint.owner !== context.programId) fail('IncorrectProgramId');
  if (mint.data.length <= accountTypeOffset) fail('InvalidAccountData');
  if (mintFields.initialized(mint.data)) fail('InvalidAccountData');
  const data = mint.write();
  data[accountTypeOffset] = 1;
  if (!putExtension(data, extension.metadataPointer, value)) fail('InvalidAccountData');
}

/** Bytes that the metadata extension takes on a mint, its header included. */
export function metadataExtensionBytes(text: { readonly name: string; readonly symbol: string; readonly uri: string }): number {
  const strings = Buffer.byteLength(text.name) + Buffer.byteLength(text.symbol) + Buffer.byteLength(text.uri);
  return 4 + 64 + 3 * 4 + strings + 4;
}

function initializeMetadata(context: InvocationContext): void {
  context.log('TokenMetadataInstruction: Initialize');
  context.consume(initializeUnits);
  const account = context.account(0);
  const updateAuthority = context.account(1);
  const mint = context.account(2);
  const mintAuthority = context.account(3);
  if (!mintAuthority.signer) fail('MissingRequiredSignature');
  if (account.address !== mint.address || !isMint(mint.owner, mint.data)) fail('InvalidAccountData');
  if (mintFields.authority(mint.data) !== mintAuthority.address) fail('IncorrectProgramId');
  if (findExtension(mint.data, extension.tokenMetadata) !== null) fail('AccountAlreadyInitialized');
  const reader = new BorshReader(context.data, tagBytes);
  const value = new BorshWriter()
    .address(updateAuthority.address)
    .address(mint.address)
    .string(reader.string())
    .string(reader.string())
    .string(reader.string())
    .u32(0)
    .done();
  const length = extensionsEnd(mint.data) + 4 + value.length;
  if (account.lamports < minimumBalance(length)) fail('InsufficientFunds');
  putExtension(account.resize(length), extension.tokenMetadata, value);
}

function updateMetadataAuthority(context: InvocationContext): void {
  context.log('TokenMetadataInstruction: UpdateAuthority');
  context.consume(updateAuthorityUnits);
  const account = context.account(0);
  const authority = context.account(1);
  if (!authority.signer) fail('MissingRequiredSignature');
  const found = findExtension(account.data, extension.tokenMetadata);
  if (found === null) return fail('InvalidAccountData');
  if (new BorshReader(account.data, found.at).address() !== authority.address) fail('InvalidAccountOwner');
  account.write().set(new BorshReader(context.data, tagBytes).bytes(32), found.at);
}

export function executeMetadataInstruction(context: InvocationContext): void {
  if (startsWith(context.data, metadataTag.initialize)) initializeMetadata(context);
  else updateMetadataAuthority(context);
}
