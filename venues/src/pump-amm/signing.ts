import { keepDerived } from '@sluice/shared/solana/derived.ts';
import type { CoinPositions, TradeForm, VenueSigning } from '../signing.ts';
import { canonicalPoolAddress, instructionDiscriminators } from './program.ts';

const { buy, buyExactQuoteIn, sell, extendAccount } = instructionDiscriminators;
const poolOf = keepDerived(canonicalPoolAddress);

/** Source: IDL of pump_amm 1.20.0. */
const base: CoinPositions = { mint: 3, program: 11, account: 5 };
const quote: CoinPositions = { mint: 4, program: 12, account: 6 };
const place = { pool: 0, user: 1 };
const buyForm = {
  money: 'input',
  positions: { ...place, input: quote, output: base },
  accountCount: [23, 27],
  dataBytes: [24, 25],
} as const;
const sellForm = {
  money: 'output',
  positions: { ...place, input: base, output: quote },
  accountCount: [21, 26],
  dataBytes: [24, 24],
} as const;
const forms: readonly TradeForm[] = [
  { ...buyForm, discriminator: buy, maxInAt: 16, minOutAt: 8 },
  { ...buyForm, discriminator: buyExactQuoteIn, maxInAt: 8, minOutAt: 16 },
  { ...sellForm, discriminator: sell, maxInAt: 8, minOutAt: 16 },
];

export const signing: VenueSigning = {
  forms,
  allowsPool: (pool, baseMint, quoteMint) => pool === poolOf(baseMint, quoteMint),
  // Sizes of the two accounts that a trade may create: a volume accumulator, and a token account for fees. 165 bytes is the size of a token account;
  // the accumulator is not larger.
  createdBytes: [165, 165],
  growth: { data: extendAccount, accountCount: 5, pool: 0, user: 1, bytes: 300 },
};
