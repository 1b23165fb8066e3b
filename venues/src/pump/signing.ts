import type { CoinPositions, TradeForm, VenueSigning } from '../signing.ts';
import { curveOf, instructionDiscriminators } from './program.ts';

const { buyV2, buyExactQuoteInV2, sellV2, extendAccount } = instructionDiscriminators;

/** Source: IDL of pump 2.0.0. */
const base: CoinPositions = { mint: 1, program: 3, account: 14 };
const quote: CoinPositions = { mint: 2, program: 4, account: 15 };
const place = { pool: 10, user: 13 };
const buyForm = {
  money: 'input',
  positions: { ...place, input: quote, output: base },
  accountCount: [27, 27],
  dataBytes: [24, 24],
} as const;
const sellForm = { money: 'output', positions: { ...place, input: base, output: quote }, dataBytes: [24, 24] } as const;
const forms: readonly TradeForm[] = [
  { ...buyForm, discriminator: buyV2, maxInAt: 16, minOutAt: 8 },
  { ...buyForm, discriminator: buyExactQuoteInV2, maxInAt: 8, minOutAt: 16 },
  { ...sellForm, discriminator: sellV2, accountCount: [26, 26], maxInAt: 8, minOutAt: 16 },
];

export const signing: VenueSigning = {
  forms,
  allowsPool: (pool, baseMint) => pool === curveOf(baseMint),
  // Token accounts of the creator's vault and of the volume accumulator; the accumulator itself is smaller than a token account.
  createdBytes: [165, 165],
  growth: { data: extendAccount, accountCount: 5, pool: 0, user: 1, bytes: 300 },
};
