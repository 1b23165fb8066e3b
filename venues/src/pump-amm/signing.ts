import { keepDerived } from '@sluice/shared/solana/derived.ts';
import type { TradeForm, TradePositions, VenueSigning } from '../signing.ts';
import { canonicalPoolAddress, instructionDiscriminators } from './program.ts';

const { buy, buyExactQuoteIn, sell, extendAccount } = instructionDiscriminators;
const poolOf = keepDerived(canonicalPoolAddress);

/** Source: IDL of pump_amm 1.20.0. */
const positions: TradePositions = {
  pool: 0,
  user: 1,
  baseMint: 3,
  quoteMint: 4,
  baseProgram: 11,
  quoteProgram: 12,
  baseAccount: 5,
  quoteAccount: 6,
};
const forms: readonly TradeForm[] = [
  { positions, discriminator: buy, side: 'buy', accountCount: [23, 27], dataBytes: [24, 25], maxInAt: 16, minOutAt: 8 },
  { positions, discriminator: buyExactQuoteIn, side: 'buy', accountCount: [23, 27], dataBytes: [24, 25], maxInAt: 8, minOutAt: 16 },
  { positions, discriminator: sell, side: 'sell', accountCount: [21, 26], dataBytes: [24, 24], maxInAt: 8, minOutAt: 16 },
];

export const signing: VenueSigning = {
  forms,
  allowsPool: (pool, baseMint, quoteMint) => pool === poolOf(baseMint, quoteMint),
  // Sizes of the two accounts that a trade may create: a volume accumulator, and a token account for fees. 165 bytes is the size of a token account;
  // the accumulator is not larger.
  createdBytes: [165, 165],
  growth: { data: extendAccount, accountCount: 5, pool: 0, user: 1, bytes: 300 },
};
