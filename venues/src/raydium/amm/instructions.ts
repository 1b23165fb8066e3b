import { readonlyAccount, signerAccount, withU64s, writableAccount } from '@sluice/shared/solana/transaction/instructions.ts';
import type { SwapOrder, SwapParts } from '../../kit/swap-order.ts';
import type { AmmPool } from './decode.ts';
import { authority, instructions, programId } from './program.ts';

/** More than any measured swap took (README.md). */
const computeUnits = 26_000;

const [exactInTag, exactOutTag] = [Uint8Array.of(instructions.swapBaseInV2), Uint8Array.of(instructions.swapBaseOutV2)];

/** The swap of an order, without an order book. Both instructions have the same accounts and the same order of limits. */
export function buildSwap(
  { coinVault, pcVault }: AmmPool,
  address: string,
  { user, given, received, exactIn, amountIn, amountOut }: SwapOrder,
): SwapParts {
  const accounts = [
    // Both coins belong to it.
    readonlyAccount(given.program),
    writableAccount(address),
    readonlyAccount(authority),
    writableAccount(coinVault),
    writableAccount(pcVault),
    writableAccount(given.account),
    writableAccount(received.account),
    signerAccount(user),
  ];
  return { instruction: { programId, accounts, data: withU64s(exactIn ? exactInTag : exactOutTag, amountIn, amountOut) }, computeUnits };
}
