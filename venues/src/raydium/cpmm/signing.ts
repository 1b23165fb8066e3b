import type { VenueSigning } from '../../seam/signing.ts';
import { decodePool } from './decode.ts';
import { swapAccounts, swapInstructions } from './program.ts';

/** Some pools have an address that does not follow from their coins, so the pool's account proves them. A swap creates no account. */
export const signing: VenueSigning = {
  forms: swapInstructions.map((discriminator) => ({
    discriminator,
    accountCount: [13, 13],
    dataBytes: [24, 24],
    money: null,
    user: swapAccounts.user,
    input: { account: 4, program: 8 },
    output: { account: 5, program: 9 },
    mints: { input: swapAccounts.inputMint, output: swapAccounts.outputMint },
    pool: {
      at: swapAccounts.pool,
      coinsIn: (data) => {
        const pool = decodePool(data);
        return pool === null ? null : [pool.mint0, pool.mint1];
      },
    },
    limits: { maxInAt: 8, minOutAt: 16, mode: null },
    zeros: [],
  })),
  createdBytes: [],
  growth: null,
};
