import { token2022Program, tokenProgram, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { minimumBalance } from '../../ledger/rent.ts';
import type { InstructionAccount } from '../../runtime/instruction-account.ts';
import { fail, failCustom } from '../../runtime/instruction-error.ts';
import type { InvocationContext, Program } from '../../runtime/program.ts';
import { BorshEnd, BorshReader } from '../../layout/borsh.ts';
import { executeMetadataInstruction, initializeMetadataPointer, isMetadataInstruction } from './token-metadata.ts';
import { authorityType, tokenTag } from './token-instructions.ts';
import {
  accountState,
  accountType,
  accountTypeOffset,
  extension,
  findExtension,
  immutableOwnerAccountBytes,
  isMint,
  isTokenAccountData,
  mintBytes,
  mintFields,
  putExtension,
  tokenAccountBytes,
  tokenFields,
} from '../../layout/token-state.ts';

/** TokenError by number, with the text that the program logs. */
const tokenErrors: Readonly<Record<number, string>> = {
  0: 'Error: Lamport balance below rent-exempt threshold',
  1: 'Error: insufficient funds',
  2: 'Error: Invalid Mint',
  3: 'Error: Account not associated with this Mint',
  4: 'Error: owner does not match',
  5: 'Error: the total supply of this token is fixed',
  6: 'Error: account or token already in use',
  9: 'Error: State is uninitialized',
  10: 'Error: Instruction does not support native tokens',
  11: 'Error: Non-native account can only be closed if its balance is zero',
  12: 'Error: Invalid instruction',
  13: 'Error: Invalid account state for operation',
  14: 'Error: Operation overflowed',
  15: 'Error: Account does not support specified authority type',
  17: 'Error: Account is frozen',
  18: 'Error: decimals different from the Mint decimals',
  19: 'Error: Instruction does not support non-native tokens',
  34: 'The owner authority cannot be changed',
};

const code = {
  notRentExempt: 0,
  insufficientFunds: 1,
  invalidMint: 2,
  mintMismatch: 3,
  ownerMismatch: 4,
  fixedSupply: 5,
  alreadyInUse: 6,
  nativeNotSupported: 10,
  nonNativeHasBalance: 11,
  invalidInstruction: 12,
  invalidState: 13,
  overflow: 14,
  authorityTypeNotSupported: 15,
  accountFrozen: 17,
  decimalsMismatch: 18,
  nonNativeNotSupported: 19,
  immutableOwner: 34,
} as const;

const maxAmount = (1n << 64n) - 1n;

/** Names as Token-2022 logs them, and compute units of each program (SPL Token is the optimized one, which logs no names). */
const operations: Readonly<Record<number, { readonly name: string; readonly units: number; readonly units2022: number }>> = {
  [tokenTag.initializeMint]: { name: 'InitializeMint', units: 105, units2022: 1873 },
  [tokenTag.initializeAccount]: { name: 'InitializeAccount', units: 154, units2022: 2245 },
  [tokenTag.transfer]: { name: 'Transfer', units: 76, units2022: 1798 },
  [tokenTag.approve]: { name: 'Approve', units: 124, units2022: 1170 },
  [tokenTag.revoke]: { name: 'Revoke', units: 97, units2022: 1008 },
  [tokenTag.setAuthority]: { name: 'SetAuthority', units: 127, units2022: 1044 },
  [tokenTag.mintTo]: { name: 'MintTo', units: 119, units2022: 1714 },
  [tokenTag.burn]: { name: 'Burn', units: 126, units2022: 1669 },
  [tokenTag.closeAccount]: { name: 'CloseAccount', units: 120, units2022: 1685 },
  [tokenTag.transferChecked]: { name: 'TransferChecked', units: 105, units2022: 2562 },
  [tokenTag.approveChecked]: { name: 'ApproveChecked', units: 164, units2022: 1720 },
  [tokenTag.mintToChecked]: { name: 'MintToChecked', units: 169, units2022: 1778 },
  [tokenTag.burnChecked]: { name: 'BurnChecked', units: 131, units2022: 1733 },
  [tokenTag.initializeAccount2]: { name: 'InitializeAccount2', units: 171, units2022: 2140 },
  [tokenTag.syncNative]: { name: 'SyncNative', units: 61, units2022: 1180 },
  [tokenTag.initializeAccount3]: { name: 'InitializeAccount3', units: 235, units2022: 2153 },
  [tokenTag.initializeMint2]: { name: 'InitializeMint2', units: 226, units2022: 1772 },
  [tokenTag.getAccountDataSize]: { name: 'GetAccountDataSize', units: 183, units2022: 1523 },
  [tokenTag.initializeImmutableOwner]: { name: 'InitializeImmutableOwner', units: 38, units2022: 736 },
  [tokenTag.metadataPointer]: { name: 'MetadataPointerInstruction::Initialize', units: 0, units2022: 925 },
};

function refuse(context: InvocationContext, error: number): never {
  const text = tokenErrors[error];
  if (text !== undefined) context.log(text);
  return failCustom(error);
}

function requireMint(context: InvocationContext, account: InstructionAccount): Uint8Array {
  if (account.owner !== context.programId) fail('IncorrectProgramId');
  if (!isMint(account.owner, account.data)) fail('InvalidAccountData');
  return account.data;
}

function requireAccount(context: InvocationContext, account: InstructionAccount): Uint8Array {
  if (account.owner !== context.programId) fail('IncorrectProgramId');
  if (!isTokenAccountData(account.owner, account.data)) {
    fail(account.data.length < tokenAccountBytes ? 'InvalidAccountData' : 'UninitializedAccount');
  }
  return account.data;
}

function requireLiquid(context: InvocationContext, data: Uint8Array): void {
  if (tokenFields.state(data) === accountState.frozen) refuse(context, code.accountFrozen);
}

function requireAuthority(context: InvocationContext, expected: string, authority: InstructionAccount): void {
  if (authority.address !== expected) refuse(context, code.ownerMismatch);
  if (!authority.signer) fail('MissingRequiredSignature');
}

/** Checks who may spend `amount` of an account and uses up a delegate's allowance. */
function authorizeSpend(context: InvocationContext, account: InstructionAccount, authority: InstructionAccount, amount: bigint): void {
  const { data } = account;
  if (tokenFields.delegate(data) !== authority.address) {
    requireAuthority(context, tokenFields.owner(data), authority);
    return;
  }
  if (!authority.signer) fail('MissingRequiredSignature');
  const allowed = tokenFields.delegatedAmount(data);
  if (allowed < amount) refuse(context, code.insufficientFunds);
  const out = account.write();
  tokenFields.setDelegatedAmount(out, allowed - amount);
  if (allowed === amount) tokenFields.setDelegate(out, null, context.programId);
}

function transfer(context: InvocationContext, amount: bigint, decimals: number | null): void {
  const checked = decimals !== null;
  const source = context.account(0);
  const destination = context.account(checked ? 2 : 1);
  const authority = context.account(checked ? 3 : 2);
  const from = requireAccount(context, source);
  const to = requireAccount(context, destination);
  requireLiquid(context, from);
  requireLiquid(context, to);
  if (tokenFields.amount(from) < amount) refuse(context, code.insufficientFunds);
  if (tokenFields.mint(from) !== tokenFields.mint(to)) refuse(context, code.mintMismatch);
  if (decimals !== null) {
    const mint = context.account(1);
    if (tokenFields.mint(from) !== mint.address) refuse(context, code.mintMismatch);
    if (mintFields.decimals(requireMint(context, mint)) !== decimals) refuse(context, code.decimalsMismatch);
  }
  authorizeSpend(context, source, authority, amount);
  if (source.address === destination.address || amount === 0n) return;
  const out = source.write();
  tokenFields.setAmount(out, tokenFields.amount(out) - amount);
  const into = destination.write();
  tokenFields.setAmount(into, tokenFields.amount(into) + amount);
  if (tokenFields.nativeReserve(out) === null) return;
  source.debit(amount);
  destination.credit(amount);
}

function initializeMint(context: InvocationContext, reader: BorshReader, rentAccountGiven: boolean): void {
  const account = context.account(0);
  if (rentAccountGiven) context.account(1);
  const decimals = reader.u8();
  const authority = reader.address();
  const freezeAuthority = reader.remaining > 0 && reader.bool() ? reader.address() : null;
  if (account.owner !== context.programId) fail('IncorrectProgramId');
  if (account.data.length !== mintBytes && (context.programId === tokenProgram || account.data.length <= accountTypeOffset)) {
    fail('InvalidAccountData');
  }
  if (mintFields.initialized(account.data)) refuse(context, code.alreadyInUse);
  if (account.lamports < minimumBalance(account.data.length)) refuse(context, code.notRentExempt);
  const data = account.write();
  mintFields.initialize(data, decimals, authority, freezeAuthority);
  if (data.length > mintBytes) data[accountTypeOffset] = accountType.mint;
}

function initializeAccount(context: InvocationContext, owner: string): void {
  const account = context.account(0);
  const mint = context.account(1);
  if (account.owner !== context.programId) fail('IncorrectProgramId');
  if (account.data.length < tokenAccountBytes) fail('InvalidAccountData');
  if (tokenFields.state(account.data) !== accountState.uninitialized) refuse(context, code.alreadyInUse);
  if (account.lamports < minimumBalance(account.data.length)) refuse(context, code.notRentExempt);
  const native = mint.address === wrappedSolMint;
  if (!native && !isMint(mint.owner, mint.data)) refuse(context, code.invalidMint);
  if (mint.owner !== context.programId) fail('IncorrectProgramId');
  const data = account.write();
  tokenFields.initialize(data, mint.address, owner);
  if (data.length > tokenAccountBytes) data[accountTypeOffset] = accountType.account;
  if (!native) return;
  const reserve = minimumBalance(data.length);
  tokenFields.setNativeReserve(data, reserve);
  tokenFields.setAmount(data, account.lamports - reserve);
}

function mintTo(context: InvocationContext, amount: bigint, decimals: number | null): void {
  const mint = context.account(0);
  const destination = context.account(1);
  const to = requireAccount(context, destination);
  requireLiquid(context, to);
  if (tokenFields.nativeReserve(to) !== null) refuse(context, code.nativeNotSupported);
  if (tokenFields.mint(to) !== mint.address) refuse(context, code.mintMismatch);
  const data = requireMint(context, mint);
  if (decimals !== null && mintFields.decimals(data) !== decimals) refuse(context, code.decimalsMismatch);
  const authority = mintFields.authority(data);
  if (authority === null) return refuse(context, code.fixedSupply);
  requireAuthority(context, authority, context.account(2));
  const supply = mintFields.supply(data) + amount;
  if (supply > maxAmount) refuse(context, code.overflow);
  mintFields.setSupply(mint.write(), supply);
  const into = destination.write();
  tokenFields.setAmount(into, tokenFields.amount(into) + amount);
}

function burn(context: InvocationContext, amount: bigint, decimals: number | null): void {
  const source = context.account(0);
  const mint = context.account(1);
  const from = requireAccount(context, source);
  const data = requireMint(context, mint);
  requireLiquid(context, from);
  if (tokenFields.nativeReserve(from) !== null) refuse(context, code.nativeNotSupported);
  if (tokenFields.amount(from) < amount) refuse(context, code.insufficientFunds);
  if (tokenFields.mint(from) !== mint.address) refuse(context, code.mintMismatch);
  if (decimals !== null && mintFields.decimals(data) !== decimals) refuse(context, code.decimalsMismatch);
  authorizeSpend(context, source, context.account(2), amount);
  const out = source.write();
  tokenFields.setAmount(out, tokenFields.amount(out) - amount);
  mintFields.setSupply(mint.write(), mintFields.supply(data) - amount);
}

function closeAccount(context: InvocationContext): void {
  const account = context.account(0);
  const destination = context.account(1);
  if (account.address === destination.address) fail('InvalidAccountData');
  const data = requireAccount(context, account);
  if (tokenFields.nativeReserve(data) === null && tokenFields.amount(data) !== 0n) refuse(context, code.nonNativeHasBalance);
  requireAuthority(context, tokenFields.closeAuthority(data) ?? tokenFields.owner(data), context.account(2));
  const { lamports } = account;
  account.debit(lamports);
  destination.credit(lamports);
  account.release();
}

function approve(context: InvocationContext, amount: bigint, decimals: number | null): void {
  const checked = decimals !== null;
  const source = context.account(0);
  const data = requireAccount(context, source);
  requireLiquid(context, data);
  if (decimals !== null) {
    const mint = context.account(1);
    if (tokenFields.mint(data) !== mint.address) refuse(context, code.mintMismatch);
    if (mintFields.decimals(requireMint(context, mint)) !== decimals) refuse(context, code.decimalsMismatch);
  }
  requireAuthority(context, tokenFields.owner(data), context.account(checked ? 3 : 2));
  const out = source.write();
  tokenFields.setDelegate(out, context.account(checked ? 2 : 1).address, context.programId);
  tokenFields.setDelegatedAmount(out, amount);
}

function revoke(context: InvocationContext): void {
  const source = context.account(0);
  const data = requireAccount(context, source);
  requireLiquid(context, data);
  requireAuthority(context, tokenFields.owner(data), context.account(1));
  const out = source.write();
  tokenFields.setDelegate(out, null, context.programId);
  tokenFields.setDelegatedAmount(out, 0n);
}

function setAccountAuthority(context: InvocationContext, type: number, next: string | null): void {
  const account = context.account(0);
  const data = requireAccount(context, account);
  requireLiquid(context, data);
  if (type === authorityType.accountOwner) {
    if (findExtension(data, extension.immutableOwner) !== null) refuse(context, code.immutableOwner);
    requireAuthority(context, tokenFields.owner(data), context.account(1));
    if (next === null) return refuse(context, code.invalidInstruction);
    const out = account.write();
    tokenFields.setOwner(out, next);
    tokenFields.setDelegate(out, null, context.programId);
    tokenFields.setDelegatedAmount(out, 0n);
    if (tokenFields.nativeReserve(out) !== null) tokenFields.setCloseAuthority(out, null, context.programId);
    return;
  }
  if (type !== authorityType.closeAccount) refuse(context, code.authorityTypeNotSupported);
  requireAuthority(context, tokenFields.closeAuthority(data) ?? tokenFields.owner(data), context.account(1));
  tokenFields.setCloseAuthority(account.write(), next, context.programId);
}

function setAuthority(context: InvocationContext, type: number, next: string | null): void {
  const account = context.account(0);
  if (!isMint(account.owner, account.data)) return setAccountAuthority(context, type, next);
  const data = requireMint(context, account);
  if (type === authorityType.mintTokens) {
    const current = mintFields.authority(data);
    if (current === null) return refuse(context, code.fixedSupply);
    requireAuthority(context, current, context.account(1));
    return mintFields.setAuthority(account.write(), next, context.programId);
  }
  if (type !== authorityType.freezeAccount) refuse(context, code.authorityTypeNotSupported);
  const current = mintFields.freezeAuthority(data);
  if (current === null) return refuse(context, code.authorityTypeNotSupported);
  requireAuthority(context, current, context.account(1));
  mintFields.setFreezeAuthority(account.write(), next, context.programId);
}

function syncNative(context: InvocationContext): void {
  const account = context.account(0);
  const data = requireAccount(context, account);
  const reserve = tokenFields.nativeReserve(data);
  if (reserve === null) return refuse(context, code.nonNativeNotSupported);
  const amount = account.lamports - reserve;
  if (amount < tokenFields.amount(data)) refuse(context, code.invalidState);
  tokenFields.setAmount(account.write(), amount);
}

/** Length of an account of a mint with the requested extension types. */
function getAccountDataSize(context: InvocationContext, reader: BorshReader): void {
  const mint = context.account(0);
  if (mint.owner !== context.programId) context.log('Error: IncorrectProgramId');
  requireMint(context, mint);
  const extended = context.programId === token2022Program && reader.remaining >= 2;
  const length = extended ? immutableOwnerAccountBytes : tokenAccountBytes;
  const out = Buffer.alloc(8);
  out.writeBigUInt64LE(BigInt(length));
  context.setReturnData(out);
}

function initializeImmutableOwner(context: InvocationContext): void {
  const account = context.account(0);
  if (account.owner !== context.programId) fail('IncorrectProgramId');
  if (account.data.length < tokenAccountBytes) fail('InvalidAccountData');
  if (tokenFields.state(account.data) !== accountState.uninitialized) refuse(context, code.alreadyInUse);
  if (context.programId === tokenProgram) return;
  if (!putExtension(account.write(), extension.immutableOwner, new Uint8Array(0))) fail('InvalidAccountData');
}

function readNext(reader: BorshReader): string | null {
  return reader.bool() ? reader.address() : null;
}

function dispatch(context: InvocationContext, tag: number, reader: BorshReader): void {
  if (tag === tokenTag.initializeMint) return initializeMint(context, reader, true);
  if (tag === tokenTag.initializeMint2) return initializeMint(context, reader, false);
  if (tag === tokenTag.initializeAccount) return initializeAccount(context, context.account(2).address);
  if (tag === tokenTag.initializeAccount2 || tag === tokenTag.initializeAccount3) return initializeAccount(context, reader.address());
  if (tag === tokenTag.transfer) return transfer(context, reader.u64(), null);
  if (tag === tokenTag.transferChecked) return transfer(context, reader.u64(), reader.u8());
  if (tag === tokenTag.approve) return approve(context, reader.u64(), null);
  if (tag === tokenTag.approveChecked) return approve(context, reader.u64(), reader.u8());
  if (tag === tokenTag.revoke) return revoke(context);
  if (tag === tokenTag.setAuthority) return setAuthority(context, reader.u8(), readNext(reader));
  if (tag === tokenTag.mintTo) return mintTo(context, reader.u64(), null);
  if (tag === tokenTag.mintToChecked) return mintTo(context, reader.u64(), reader.u8());
  if (tag === tokenTag.burn) return burn(context, reader.u64(), null);
  if (tag === tokenTag.burnChecked) return burn(context, reader.u64(), reader.u8());
  if (tag === tokenTag.closeAccount) return closeAccount(context);
  if (tag === tokenTag.syncNative) return syncNative(context);
  if (tag === tokenTag.getAccountDataSize) return getAccountDataSize(context, reader);
  if (tag === tokenTag.initializeImmutableOwner) return initializeImmutableOwner(context);
  return refuse(context, code.invalidInstruction);
}

function executeToken(context: InvocationContext): void {
  const extended = context.programId === token2022Program;
  try {
    if (extended && isMetadataInstruction(context.data)) return executeMetadataInstruction(context);
    const reader = new BorshReader(context.data);
    const tag = reader.u8();
    const operation = operations[tag];
    if (operation === undefined || (tag === tokenTag.metadataPointer && !extended)) return refuse(context, code.invalidInstruction);
    if (extended) context.log(tag === tokenTag.metadataPointer ? operation.name : `Instruction: ${operation.name}`);
    context.consume(extended ? operation.units2022 : operation.units);
    if (tag === tokenTag.metadataPointer) initializeMetadataPointer(context, reader);
    else dispatch(context, tag, reader);
  } catch (error) {
    if (error instanceof BorshEnd) refuse(context, code.invalidInstruction);
    throw error;
  }
}

/** SPL Token and Token-2022; they differ in their extensions, their logs and what they cost. */
export const token: Program = { builtin: false, execute: executeToken };
