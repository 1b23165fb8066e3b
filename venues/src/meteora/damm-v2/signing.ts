import type { VenueSigning } from '../../seam/signing.ts';
import { coinsOf } from './pool.ts';
import { swap2, swapAccounts, swapModes } from './program.ts';

const { pool, input, output, mintA, mintB, user, count } = swapAccounts;

/**
 * `swap2` trades in both directions, and creates no accounts. Pools of different origin have different addresses, so the pool's account proves
 * its coins. An account that follows shows the other instructions of the transaction.
 */
export const signing: VenueSigning = {
  forms: [
    {
      discriminator: swap2,
      accountCount: [count, count + 1],
      dataBytes: [25, 25],
      money: null,
      user,
      input: { account: input, program: null },
      output: { account: output, program: null },
      mints: { either: [mintA, mintB] },
      pool: { at: pool, coinsIn: coinsOf },
      limits: { maxInAt: 8, minOutAt: 16, mode: { at: 24, exactIn: [swapModes.exactIn], exactOut: swapModes.exactOut } },
      zeros: [],
    },
  ],
  createdBytes: [],
  growth: null,
};
