import type { VenueSigning } from '../../seam/signing.ts';
import { decodePool } from './decode.ts';
import { instructions, poolAt, swapPlacesV2 } from './program.ts';

/** No account names a coin, so the pool's account does. A swap creates no account. */
export const signing: VenueSigning = {
  forms: [instructions.swapBaseInV2, instructions.swapBaseOutV2].map((tag) => ({
    discriminator: Uint8Array.of(tag),
    accountCount: [8, 8],
    dataBytes: [17, 17],
    money: null,
    user: swapPlacesV2.user,
    input: { account: 5, program: 0 },
    output: { account: 6, program: 0 },
    mints: null,
    pool: {
      at: poolAt,
      coinsIn: (data) => {
        const pool = decodePool(data);
        return pool === null ? null : [pool.coinMint, pool.pcMint];
      },
    },
    limits: { maxInAt: 1, minOutAt: 9, mode: null },
    zeros: [],
  })),
  createdBytes: [],
  growth: null,
};
