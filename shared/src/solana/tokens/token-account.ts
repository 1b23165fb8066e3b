import { encodeBase58 } from '../encoding/base58.ts';
import { token2022Program } from '../well-known.ts';
import { extensionsAt, type Mint } from './mint.ts';

/** Bytes of a token account of SPL Token. */
export const tokenAccountBytes = 165;
/** Of an account with extensions: its type, then the type and the length of each extension. */
const accountTypeBytes = 1;
const extensionHeadBytes = 4;

/** Bytes of an associated token account of a mint. Each extension of the mint may require one of its accounts. */
export function associatedAccountBytes({ tokenProgram, extensions }: Pick<Mint, 'tokenProgram' | 'extensions'>): number {
  if (tokenProgram !== token2022Program) return tokenAccountBytes;
  const { transferFee, nonTransferable, transferHook, pausable } = extensions;
  // Values: nothing for the immutable owner and for the marks, the withheld amount, whether a transfer is running.
  const values = [0, ...(transferFee === null ? [] : [8]), ...(transferHook === null ? [] : [1])];
  const marks = [nonTransferable, pausable !== null].filter(Boolean).map(() => 0);
  return [...values, ...marks].reduce((sum, bytes) => sum + extensionHeadBytes + bytes, tokenAccountBytes + accountTypeBytes);
}

/** Fields of a token account. Source: `state::Account` of SPL Token. */
export interface TokenAccount {
  readonly mint: string;
  readonly owner: string;
  readonly amount: bigint;
  readonly frozen: boolean;
}

/** Reads a token account of either token program; null if it is not one, or not initialized. Never throws. */
export function decodeTokenAccount(programId: string, data: Uint8Array): TokenAccount | null {
  if (extensionsAt(programId, data, 'account') === null) return null;
  const state = data[108];
  if (state !== 1 && state !== 2) return null;
  const view = new DataView(data.buffer, data.byteOffset, data.length);
  return { mint: encodeBase58(data, 0, 32), owner: encodeBase58(data, 32, 32), amount: view.getBigUint64(64, true), frozen: state === 2 };
}
