import type { CoinPositions, TradeForm, VenueSigning } from '../../seam/signing.ts';
import { curveOf, instructionDiscriminators } from './program.ts';

const { buyV2, buyExactQuoteInV2, sellV2, extendAccount } = instructionDiscriminators;

/** Source: IDL of pump 2.0.0. */
const coin: CoinPositions = { program: 3, account: 14 };
const money: CoinPositions = { program: 4, account: 15 };
const common = {
  user: 13,
  pool: { at: 10, addressOf: ({ base }) => curveOf(base) },
  dataBytes: [24, 24],
  zeros: [],
} satisfies Partial<TradeForm>;
const buy = {
  ...common,
  money: 'input',
  input: money,
  output: coin,
  mints: { input: 2, output: 1 },
  accountCount: [27, 27],
} satisfies Partial<TradeForm>;
const exactIn = { maxInAt: 8, minOutAt: 16, exactInAt: null };
const forms: readonly TradeForm[] = [
  { ...buy, discriminator: buyV2, limits: { maxInAt: 16, minOutAt: 8, exactInAt: null } },
  { ...buy, discriminator: buyExactQuoteInV2, limits: exactIn },
  {
    ...common,
    money: 'output',
    input: coin,
    output: money,
    mints: { input: 1, output: 2 },
    accountCount: [26, 26],
    discriminator: sellV2,
    limits: exactIn,
  },
];

export const signing: VenueSigning = {
  forms,
  // Token accounts of the creator's vault and of the volume accumulator; the accumulator itself is smaller than a token account.
  createdBytes: [165, 165],
  growth: { data: extendAccount, accountCount: 5, pool: 0, user: 1, bytes: 300 },
};
