import { hasPrefix, viewOf } from '@sluice/shared/solana/encoding/bytes.ts';
import { token2022Program, tokenProgram } from '@sluice/shared/solana/well-known.ts';
import { dividedUp } from './constant-product.ts';
import type { EmittingInstruction } from '../seam/venue.ts';

/** Instructions of the token programs that move coins, with the offset of the amount. */
const transfers: readonly (readonly [prefix: Uint8Array, amountAt: number])[] = [
  [Uint8Array.of(12), 1], // TransferChecked
  [Uint8Array.of(3), 1], // Transfer
  [Uint8Array.of(26, 1), 2], // TransferCheckedWithFee
];

const basisPoints = 10_000n;

/**
 * What a coin withheld of a transfer, by what the receiving account gained in the transaction. It counts only if it is a share in whole basis points,
 * because something else may have moved the same account.
 */
export function withheldOf(sent: bigint, gained: bigint, maxBps = basisPoints - 1n): bigint {
  const withheld = sent - gained;
  if (withheld <= 0n || gained < 0n) return 0n;
  const bps = (withheld * basisPoints) / sent;
  return bps <= maxBps && dividedUp(sent * bps, basisPoints) === withheld ? withheld : 0n;
}

/** What the instruction itself moved out of a token account, with what the coin withheld. Not what the programs moved that it called, or that called it. */
export function sentFrom({ inner, at }: EmittingInstruction, account: string): bigint {
  const height = at < 0 ? 1 : (inner[at]?.stackHeight ?? null);
  let sum = 0n;
  for (let index = at + 1; index < inner.length; index++) {
    const { stackHeight, programId, accounts, data } = inner[index]!;
    if (height !== null && stackHeight !== null && stackHeight <= height) break;
    const isOwn = height === null || stackHeight === height + 1;
    if (!isOwn || accounts[0] !== account || (programId !== tokenProgram && programId !== token2022Program)) continue;
    const form = transfers.find(([prefix, from]) => hasPrefix(data, prefix) && data.length >= from + 8);
    if (form !== undefined) sum += viewOf(data).getBigUint64(form[1], true);
  }
  return sum;
}
