import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { token2022Program, tokenProgram, wrappedSolMint, zeroAddress } from '@sluice/shared/solana/well-known.ts';
import type { ChainAccount } from '../chain.ts';

const mintLength = 82;
const accountLength = 165;
const multisigLength = 355;
const accountTypeMint = 1;
const accountTypeAccount = 2;

interface TokenAccountView {
  readonly mint: string;
  readonly owner: string;
  readonly amount: bigint;
  readonly delegate: string | null;
  readonly state: 'uninitialized' | 'initialized' | 'frozen';
  /** Rent-exempt reserve if the account holds wrapped SOL. */
  readonly nativeReserve: bigint | null;
  readonly delegatedAmount: bigint;
  readonly closeAuthority: string | null;
}

interface MintView {
  readonly mintAuthority: string | null;
  readonly supply: bigint;
  readonly decimals: number;
  readonly initialized: boolean;
  readonly freezeAuthority: string | null;
}

function view(data: Uint8Array): DataView {
  return new DataView(data.buffer, data.byteOffset, data.byteLength);
}

/** COption<Pubkey>: u32 tag, 32 bytes. */
function optionalKey(data: Uint8Array, offset: number): string | null {
  return view(data).getUint32(offset, true) === 1 ? encodeBase58(data, offset + 4, 32) : null;
}

function isTokenProgram(owner: string): boolean {
  return owner === tokenProgram || owner === token2022Program;
}

function hasType(account: ChainAccount, baseLength: number, type: number): boolean {
  const { data, owner } = account;
  if (data.length === baseLength) return true;
  return owner === token2022Program && data.length > accountLength && data.length !== multisigLength && data[accountLength] === type;
}

/** A token account of either token program; null if the account is not one. Layout: SPL Token `state::Account`. */
export function readTokenAccount(account: ChainAccount): TokenAccountView | null {
  if (!isTokenProgram(account.owner) || !hasType(account, accountLength, accountTypeAccount)) return null;
  const { data } = account;
  const state = (['uninitialized', 'initialized', 'frozen'] as const)[data[108] ?? 0];
  if (state === undefined || state === 'uninitialized') return null;
  return {
    mint: encodeBase58(data, 0, 32),
    owner: encodeBase58(data, 32, 32),
    amount: view(data).getBigUint64(64, true),
    delegate: optionalKey(data, 72),
    state,
    nativeReserve: view(data).getUint32(109, true) === 1 ? view(data).getBigUint64(113, true) : null,
    delegatedAmount: view(data).getBigUint64(121, true),
    closeAuthority: optionalKey(data, 129),
  };
}

/** A mint of either token program; null if the account is not one. Layout: SPL Token `state::Mint`. */
export function readMint(account: ChainAccount): MintView | null {
  if (!isTokenProgram(account.owner) || !hasType(account, mintLength, accountTypeMint)) return null;
  const { data } = account;
  if (data[45] !== 1) return null;
  return {
    mintAuthority: optionalKey(data, 0),
    supply: view(data).getBigUint64(36, true),
    decimals: data[44] ?? 0,
    initialized: true,
    freezeAuthority: optionalKey(data, 46),
  };
}

/** UiTokenAmount: raw amount as a string, UI amount as a number and, exactly, as a string without trailing zeros. */
export function uiTokenAmount(amount: bigint, decimals: number): object {
  const digits = amount.toString().padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = decimals === 0 ? '' : digits.slice(-decimals).replace(/0+$/, '');
  const text = fraction === '' ? whole : `${whole}.${fraction}`;
  return { amount: amount.toString(), decimals, uiAmount: Number(text), uiAmountString: text };
}

function borshString(data: Uint8Array, offset: number): { readonly text: string; readonly next: number } | null {
  if (offset + 4 > data.length) return null;
  const length = view(data).getUint32(offset, true);
  const next = offset + 4 + length;
  return next > data.length ? null : { text: Buffer.from(data.buffer, data.byteOffset + offset + 4, length).toString('utf8'), next };
}

function optionalNonZeroKey(data: Uint8Array, offset: number): string | null {
  const key = encodeBase58(data, offset, 32);
  return key === zeroAddress ? null : key;
}

function tokenMetadata(data: Uint8Array): object | null {
  if (data.length < 64) return null;
  const name = borshString(data, 64);
  const symbol = name && borshString(data, name.next);
  const uri = symbol && borshString(data, symbol.next);
  if (name === null || symbol === null || uri === null || uri.next + 4 > data.length) return null;
  const pairs: (readonly [string, string])[] = [];
  let offset = uri.next + 4;
  for (let left = view(data).getUint32(uri.next, true); left > 0; left--) {
    const key = borshString(data, offset);
    const value = key && borshString(data, key.next);
    if (key === null || value === null) return null;
    pairs.push([key.text, value.text]);
    offset = value.next;
  }
  const state = {
    additionalMetadata: pairs,
    mint: encodeBase58(data, 32, 32),
    name: name.text,
    symbol: symbol.text,
    updateAuthority: optionalNonZeroKey(data, 0),
    uri: uri.text,
  };
  return { extension: 'tokenMetadata', state };
}

function parseExtension(type: number, data: Uint8Array): object {
  if (type === 7) return { extension: 'immutableOwner' };
  if (type === 18 && data.length === 64) {
    const state = { authority: optionalNonZeroKey(data, 0), metadataAddress: optionalNonZeroKey(data, 32) };
    return { extension: 'metadataPointer', state };
  }
  return (type === 19 ? tokenMetadata(data) : null) ?? { extension: 'unparseableExtension' };
}

/** The TLV entries after byte 166 of a Token-2022 account: u16 type, u16 length, value. */
function extensions(data: Uint8Array): readonly object[] {
  const found: object[] = [];
  let offset = accountLength + 1;
  while (offset + 4 <= data.length) {
    const type = view(data).getUint16(offset, true);
    const length = view(data).getUint16(offset + 2, true);
    if (type === 0 || offset + 4 + length > data.length) break;
    found.push(parseExtension(type, data.subarray(offset + 4, offset + 4 + length)));
    offset += 4 + length;
  }
  return found;
}

function accountInfo(token: TokenAccountView, decimals: number, data: Uint8Array): object {
  return {
    ...(token.closeAuthority === null ? {} : { closeAuthority: token.closeAuthority }),
    ...(token.delegate === null ? {} : { delegate: token.delegate, delegatedAmount: uiTokenAmount(token.delegatedAmount, decimals) }),
    ...(data.length > accountLength ? { extensions: extensions(data) } : {}),
    isNative: token.nativeReserve !== null,
    mint: token.mint,
    owner: token.owner,
    ...(token.nativeReserve === null ? {} : { rentExemptReserve: uiTokenAmount(token.nativeReserve, 9) }),
    state: token.state,
    tokenAmount: uiTokenAmount(token.amount, decimals),
  };
}

/**
 * `jsonParsed` of token accounts and mints as the `{program, parsed, space}` of a node; null if the account is neither, or if its mint is
 * not known (then a node answers in base64). Of the Token-2022 extensions immutableOwner, metadataPointer and tokenMetadata are parsed;
 * others are listed as `unparseableExtension`.
 */
export function parseTokenData(account: ChainAccount, accountOf: (address: string) => ChainAccount | null): object | null {
  const program = account.owner === token2022Program ? 'spl-token-2022' : 'spl-token';
  const space = account.data.length;
  const mint = readMint(account);
  if (mint !== null) {
    const { initialized, supply, ...rest } = mint;
    const more = space > mintLength ? { extensions: extensions(account.data) } : {};
    return { program, parsed: { info: { ...more, ...rest, isInitialized: initialized, supply: supply.toString() }, type: 'mint' }, space };
  }
  const token = readTokenAccount(account);
  if (token === null) return null;
  const decimals = mintDecimals(token.mint, accountOf);
  return decimals === null ? null : { program, parsed: { info: accountInfo(token, decimals, account.data), type: 'account' }, space };
}

/** Decimals of a mint. Wrapped SOL has 9, even if its mint account is not on this chain. */
export function mintDecimals(mint: string, accountOf: (address: string) => ChainAccount | null): number | null {
  const account = accountOf(mint);
  const read = account === null ? null : readMint(account);
  if (read !== null) return read.decimals;
  return mint === wrappedSolMint ? 9 : null;
}
