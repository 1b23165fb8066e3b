import { readonlyAccount, signerAccount, withU64s, writableAccount } from '@sluice/shared/solana/transaction/instructions.ts';
import { instructionsSysvar } from '@sluice/shared/solana/well-known.ts';
import type { SwapOrder, SwapParts } from '../../kit/swap-order.ts';
import { hasRateLimiter } from './fees.ts';
import type { DammPool } from './pool.ts';
import { eventAuthority, poolAuthority, programId, swap2, swapModes } from './program.ts';

/** The maximum measured on the real program (README.md), rounded up. */
const computeUnits = 60_000;

/** The swap of an order. The exact amount comes first, then the limit of the other one. */
export function buildSwap(pool: DammPool, address: string, { user, given, received, exactIn, amountIn, amountOut }: SwapOrder): SwapParts {
  const { mintA, mintB, vaultA, vaultB } = pool;
  const [a, b] = given.mint === mintA ? [given, received] : [received, given];
  const accounts = [
    readonlyAccount(poolAuthority),
    writableAccount(address),
    writableAccount(given.account),
    writableAccount(received.account),
    writableAccount(vaultA),
    writableAccount(vaultB),
    readonlyAccount(mintA),
    readonlyAccount(mintB),
    signerAccount(user),
    readonlyAccount(a.program),
    readonlyAccount(b.program),
    // No referral.
    readonlyAccount(programId),
    readonlyAccount(eventAuthority),
    readonlyAccount(programId),
    ...(hasRateLimiter(pool) ? [readonlyAccount(instructionsSysvar)] : []),
  ];
  const amounts = exactIn ? withU64s(swap2, amountIn, amountOut) : withU64s(swap2, amountOut, amountIn);
  const data = Uint8Array.from([...amounts, exactIn ? swapModes.exactIn : swapModes.exactOut]);
  return { instruction: { programId, accounts, data }, computeUnits };
}
