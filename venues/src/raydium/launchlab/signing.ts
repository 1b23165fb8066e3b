import type { TradeForm, VenueSigning } from '../../seam/signing.ts';
import { poolOf, tradeAccounts as at, tradeDiscriminators } from './program.ts';

const coin = { account: at.userBase, program: at.baseProgram };
const money = { account: at.userQuote, program: at.quoteProgram };
const [exactIn, exactOut] = [
  { maxInAt: 8, minOutAt: 16, mode: null },
  { maxInAt: 16, minOutAt: 8, mode: null },
];

const common = {
  accountCount: [18, 18],
  dataBytes: [32, 32],
  user: at.user,
  pool: { at: at.pool, addressOf: ({ base, quote }) => poolOf(base, quote) },
  // A share of the fees for somebody else.
  zeros: [[24, 32]],
} as const satisfies Partial<TradeForm>;
const buy = { ...common, money: 'input', input: money, output: coin, mints: { input: at.quoteMint, output: at.baseMint } } as const;
const sale = { ...common, money: 'output', input: coin, output: money, mints: { input: at.baseMint, output: at.quoteMint } } as const;

/** Source: the IDL of the program, version 0.2.0. A trade may create the accounts for the fees of the platform and of the creator. */
export const signing: VenueSigning = {
  forms: [
    { ...buy, discriminator: tradeDiscriminators.buyExactIn, limits: exactIn },
    { ...buy, discriminator: tradeDiscriminators.buyExactOut, limits: exactOut },
    { ...sale, discriminator: tradeDiscriminators.sellExactIn, limits: exactIn },
  ],
  createdBytes: [165, 165],
  growth: null,
};
