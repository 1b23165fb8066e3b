import type { VenueSigning } from '../../seam/signing.ts';
import { poolOf, swap2, swapAccounts, swapModes } from './program.ts';

const { config, pool, input, output, baseMint, quoteMint, user, count } = swapAccounts;

/** `swap2` trades in both directions, and creates no accounts. An account that follows shows the other instructions of the transaction. */
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
      mints: { either: [baseMint, quoteMint] },
      pool: { at: pool, addressOf: ({ base, quote }, accounts) => poolOf(accounts[config]!, base, quote) },
      limits: {
        maxInAt: 8,
        minOutAt: 16,
        mode: { at: 24, exactIn: [swapModes.exactIn, swapModes.partialFill], exactOut: swapModes.exactOut },
      },
      zeros: [],
    },
  ],
  createdBytes: [],
  growth: null,
};
