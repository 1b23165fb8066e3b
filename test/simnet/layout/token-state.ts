import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { token2022Program, tokenProgram } from '@sluice/shared/solana/well-known.ts';
import type { ChainAccount } from '../chain.ts';
import { addressBytes } from './derive.ts';
import { BorshWriter } from './borsh.ts';
import { readU64, writeU64 } from './u64-bytes.ts';

/** Layouts of SPL Token and Token-2022 (docs of both programs): mint, account, and the extensions used here. */
export const mintBytes = 82;
export const tokenAccountBytes = 165;
export const accountTypeOffset = 165;
const extensionsOffset = 166;
export const accountType = { mint: 1, account: 2 } as const;
export const extension = { immutableOwner: 7, metadataPointer: 18, tokenMetadata: 19 } as const;
/** Token-2022 account with ImmutableOwner: account, account type, empty extension. */
export const immutableOwnerAccountBytes = 170;
/** Token-2022 mint with a metadata pointer, before its metadata is written. */
export const pointerMintBytes = 234;

export const accountState = { uninitialized: 0, initialized: 1, frozen: 2 } as const;

const offset = {
  mintAuthority: 0,
  supply: 36,
  decimals: 44,
  mintInitialized: 45,
  freezeAuthority: 46,
  accountMint: 0,
  accountOwner: 32,
  amount: 64,
  delegate: 72,
  state: 108,
  isNative: 109,
  delegatedAmount: 121,
  closeAuthority: 129,
} as const;

function view(data: Uint8Array): Buffer {
  return Buffer.from(data.buffer, data.byteOffset, data.length);
}

/** COption<Pubkey>. */
function readOption(data: Uint8Array, at: number): string | null {
  return data[at] === 1 ? encodeBase58(data, at + 4, 32) : null;
}

/** When emptied, Token-2022 zeroes the field; SPL Token clears the tag and leaves the old key. */
function writeOption(data: Uint8Array, at: number, address: string | null, program: string): void {
  data.fill(0, at, at + (program === tokenProgram ? 4 : 36));
  if (address === null) return;
  data[at] = 1;
  data.set(addressBytes(address), at + 4);
}

/** Fields of a mint, read from its bytes. Setters write in place. */
export const mintFields = {
  authority: (data: Uint8Array) => readOption(data, offset.mintAuthority),
  setAuthority: (data: Uint8Array, address: string | null, program: string) => writeOption(data, offset.mintAuthority, address, program),
  supply: (data: Uint8Array) => readU64(data, offset.supply),
  setSupply: (data: Uint8Array, value: bigint) => writeU64(data, value, offset.supply),
  decimals: (data: Uint8Array) => data[offset.decimals] ?? 0,
  initialized: (data: Uint8Array) => data[offset.mintInitialized] === 1,
  freezeAuthority: (data: Uint8Array) => readOption(data, offset.freezeAuthority),
  setFreezeAuthority: (data: Uint8Array, address: string | null, program: string) =>
    writeOption(data, offset.freezeAuthority, address, program),
  initialize(data: Uint8Array, decimals: number, authority: string, freezeAuthority: string | null): void {
    writeOption(data, offset.mintAuthority, authority, token2022Program);
    data[offset.decimals] = decimals;
    data[offset.mintInitialized] = 1;
    writeOption(data, offset.freezeAuthority, freezeAuthority, token2022Program);
  },
} as const;

/** Fields of a token account, read from its bytes. Setters write in place. */
export const tokenFields = {
  mint: (data: Uint8Array) => encodeBase58(data, offset.accountMint, 32),
  owner: (data: Uint8Array) => encodeBase58(data, offset.accountOwner, 32),
  setOwner: (data: Uint8Array, address: string) => data.set(addressBytes(address), offset.accountOwner),
  amount: (data: Uint8Array) => readU64(data, offset.amount),
  setAmount: (data: Uint8Array, value: bigint) => writeU64(data, value, offset.amount),
  delegate: (data: Uint8Array) => readOption(data, offset.delegate),
  setDelegate: (data: Uint8Array, address: string | null, program: string) => writeOption(data, offset.delegate, address, program),
  delegatedAmount: (data: Uint8Array) => readU64(data, offset.delegatedAmount),
  setDelegatedAmount: (data: Uint8Array, value: bigint) => writeU64(data, value, offset.delegatedAmount),
  state: (data: Uint8Array) => data[offset.state] ?? 0,
  setState: (data: Uint8Array, state: number) => {
    data[offset.state] = state;
  },
  /** Rent reserve of a wrapped-SOL account; null for another mint. */
  nativeReserve: (data: Uint8Array) => (data[offset.isNative] === 1 ? readU64(data, offset.isNative + 4) : null),
  setNativeReserve(data: Uint8Array, reserve: bigint): void {
    data[offset.isNative] = 1;
    writeU64(data, reserve, offset.isNative + 4);
  },
  closeAuthority: (data: Uint8Array) => readOption(data, offset.closeAuthority),
  setCloseAuthority: (data: Uint8Array, address: string | null, program: string) =>
    writeOption(data, offset.closeAuthority, address, program),
  initialize(data: Uint8Array, mint: string, owner: string): void {
    data.set(addressBytes(mint), offset.accountMint);
    data.set(addressBytes(owner), offset.accountOwner);
    data[offset.state] = accountState.initialized;
  },
} as const;

export function isTokenProgram(address: string): boolean {
  return address === tokenProgram || address === token2022Program;
}

export function isMint(owner: string, data: Uint8Array): boolean {
  if (!isTokenProgram(owner)) return false;
  if (data.length !== mintBytes && (data.length < extensionsOffset || data[accountTypeOffset] !== accountType.mint)) return false;
  return mintFields.initialized(data);
}

/** An initialized token account, not a mint. */
export function isTokenAccountData(owner: string, data: Uint8Array): boolean {
  if (!isTokenProgram(owner) || data.length < tokenAccountBytes) return false;
  if (data.length > tokenAccountBytes && data[accountTypeOffset] !== accountType.account) return false;
  return tokenFields.state(data) !== accountState.uninitialized;
}

/** Where an extension's value starts and how long it is; null if the account has no extension of that type. */
export function findExtension(data: Uint8Array, type: number): { readonly at: number; readonly length: number } | null {
  let at = extensionsOffset;
  while (at + 4 <= data.length) {
    const found = view(data).readUInt16LE(at);
    const length = view(data).readUInt16LE(at + 2);
    if (found === 0) return null;
    if (found === type) return { at: at + 4, length };
    at += 4 + length;
  }
  return null;
}

/** The first byte after the extensions in use. */
export function extensionsEnd(data: Uint8Array): number {
  let at = extensionsOffset;
  while (at + 4 <= data.length && view(data).readUInt16LE(at) !== 0) at += 4 + view(data).readUInt16LE(at + 2);
  return at;
}

/** Appends an extension if the account has room for it; otherwise returns null. */
export function putExtension(data: Uint8Array, type: number, value: Uint8Array): boolean {
  const at = extensionsEnd(data);
  if (at + 4 + value.length > data.length) return false;
  view(data).writeUInt16LE(type, at);
  view(data).writeUInt16LE(value.length, at + 2);
  data.set(value, at + 4);
  return true;
}

/** A wallet's token account of SPL Token, as genesis creates it. */
export function tokenAccountData(mint: string, owner: string, amount: bigint): Uint8Array {
  const data = new Uint8Array(tokenAccountBytes);
  tokenFields.initialize(data, mint, owner);
  tokenFields.setAmount(data, amount);
  return data;
}

export function mintData(decimals: number, supply: bigint, authority: string | null): Uint8Array {
  return new BorshWriter()
    .u32(authority === null ? 0 : 1)
    .bytes(authority === null ? new Uint8Array(32) : addressBytes(authority))
    .u64(supply)
    .u8(decimals)
    .bool(true)
    .zeros(36)
    .done(mintBytes);
}

/** Raw amount in a token account; zero if there is no account. */
export function tokenAmount(account: ChainAccount | null): bigint {
  return account !== null && isTokenAccountData(account.owner, account.data) ? tokenFields.amount(account.data) : 0n;
}
