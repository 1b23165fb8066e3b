import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { hasPrefix, viewOf } from '@sluice/shared/solana/encoding/bytes.ts';
import { pair as at, pairLength } from './layout.ts';
import { accountDiscriminators } from './program.ts';

/** The fields of a pair's account that prices and quotes need. X is the base. */
export interface DlmmPair {
  readonly mintX: string;
  readonly mintY: string;
  readonly reserveX: string;
  readonly reserveY: string;
  /** Basis points between the prices of two bins. */
  readonly binStep: number;
  readonly activeId: number;
}

/** Reads a pair's account; null if the bytes are not one. Never throws. */
export function decodePair(data: Uint8Array): DlmmPair | null {
  if (data.length < pairLength || !hasPrefix(data, accountDiscriminators.pair)) return null;
  const view = viewOf(data);
  const key = (from: number): string => encodeBase58(data, from, 32);
  return {
    mintX: key(at.mintX),
    mintY: key(at.mintY),
    reserveX: key(at.reserveX),
    reserveY: key(at.reserveY),
    binStep: view.getUint16(at.binStep, true),
    activeId: view.getInt32(at.activeId, true),
  };
}
