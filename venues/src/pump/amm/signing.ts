import { keepDerived } from '@sluice/shared/solana/addresses/derived.ts';
import type { CoinPositions, TradeForm, VenueSigning } from '../../seam/signing.ts';
import { canonicalPoolAddress, instructionDiscriminators } from './program.ts';

const { buy, buyExactQuoteIn, sell, extendAccount } = instructionDiscriminators;
const poolOf = keepDerived(canonicalPoolAddress);

/** Source: IDL of pump_amm 1.20.0. */
const coin: CoinPositions = { program: 11, account: 5 };
const money: CoinPositions = { program: 12, account: 6 };
const common = { user: 1, pool: { at: 0, addressOf: ({ base, quote }) => poolOf(base, quote) }, zeros: [] } satisfies Partial<TradeForm>;
const buying = {
  ...common,
  money: 'input',
  input: money,
  output: coin,
  mints: { input: 4, output: 3 },
  accountCount: [23, 27],
  dataBytes: [24, 25],
} satisfies Partial<TradeForm>;
const selling = {
  ...common,
  money: 'output',
  input: coin,
  output: money,
  mints: { input: 3, output: 4 },
  accountCount: [21, 26],
  dataBytes: [24, 24],
} satisfies Partial<TradeForm>;
const exactIn = { maxInAt: 8, minOutAt: 16, exactInAt: null };
const forms: readonly TradeForm[] = [
  { ...buying, discriminator: buy, limits: { maxInAt: 16, minOutAt: 8, exactInAt: null } },
  { ...buying, discriminator: buyExactQuoteIn, limits: exactIn },
  { ...selling, discriminator: sell, limits: exactIn },
];

export const signing: VenueSigning = {
  forms,
  // Sizes of the two accounts that a trade may create: a volume accumulator, and a token account for fees. 165 bytes is the size of a token account;
  // the accumulator is not larger.
  createdBytes: [165, 165],
  growth: { data: extendAccount, accountCount: 5, pool: 0, user: 1, bytes: 300 },
};
