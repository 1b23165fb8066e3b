import { readonlyAccount, signerAccount, withU64s, writableAccount } from '@sluice/shared/solana/transaction/instructions.ts';
import type { SwapOrder, SwapParts } from '../../kit/swap-order.ts';
import type { CpmmPool } from './decode.ts';
import { authority, programId, swapInstructions } from './program.ts';

/** More than any swap measured since 2026 took (README.md). */
const computeUnits = 40_000;

/** The swap of an order. Both instructions have the same accounts and the same order of limits. */
export function buildSwap(
  { config, mint0, vault0, vault1, observation }: CpmmPool,
  address: string,
  { user, given, received, exactIn, amountIn, amountOut }: SwapOrder,
): SwapParts {
  const [vaultIn, vaultOut] = given.mint === mint0 ? [vault0, vault1] : [vault1, vault0];
  const accounts = [
    signerAccount(user),
    readonlyAccount(authority),
    readonlyAccount(config),
    writableAccount(address),
    writableAccount(given.account),
    writableAccount(received.account),
    writableAccount(vaultIn),
    writableAccount(vaultOut),
    readonlyAccount(given.program),
    readonlyAccount(received.program),
    readonlyAccount(given.mint),
    readonlyAccount(received.mint),
    writableAccount(observation),
  ];
  return { instruction: { programId, accounts, data: withU64s(swapInstructions[exactIn ? 0 : 1]!, amountIn, amountOut) }, computeUnits };
}
