import { encodeBase58 } from '../base58.ts';
import { extensionsAt } from './mint.ts';

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
  return {
    mint: encodeBase58(data, 0, 32),
    owner: encodeBase58(data, 32, 32),
    amount: view.getBigUint64(64, true),
    frozen: state === 2,
  };
}
