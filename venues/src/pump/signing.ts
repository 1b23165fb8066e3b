import type { TradeForm, TradePositions, VenueSigning } from '../signing.ts';
import { curveOf, instructionDiscriminators } from './program.ts';

const { buyV2, buyExactQuoteInV2, sellV2, extendAccount } = instructionDiscriminators;

/** Source: IDL of pump 2.0.0. */
const positions: TradePositions = {
  pool: 10,
  user: 13,
  baseMint: 1,
  quoteMint: 2,
  baseProgram: 3,
  quoteProgram: 4,
  baseAccount: 14,
  quoteAccount: 15,
};
const form = { positions, dataBytes: [24, 24] } as const;
const forms: readonly TradeForm[] = [
  { ...form, discriminator: buyV2, side: 'buy', accountCount: [27, 27], maxInAt: 16, minOutAt: 8 },
  { ...form, discriminator: buyExactQuoteInV2, side: 'buy', accountCount: [27, 27], maxInAt: 8, minOutAt: 16 },
  { ...form, discriminator: sellV2, side: 'sell', accountCount: [26, 26], maxInAt: 8, minOutAt: 16 },
];

export const signing: VenueSigning = {
  forms,
  allowsPool: (pool, baseMint) => pool === curveOf(baseMint),
  // Token accounts of the creator's vault and of the volume accumulator; the accumulator itself is smaller than a token account.
  createdBytes: [165, 165],
  growth: { data: extendAccount, accountCount: 5, pool: 0, user: 1, bytes: 300 },
};
