import { keepDerived } from '@sluice/shared/solana/addresses/derived.ts';
import { signingOf } from '../fees/signing.ts';
import { canonicalPoolAddress, instructionDiscriminators } from './program.ts';

const { buy, buyExactQuoteIn, sell, extendAccount } = instructionDiscriminators;
const poolOf = keepDerived(canonicalPoolAddress);

/** Source: IDL of pump_amm 1.20.0. A trade may create a volume accumulator, and a token account for fees. */
export const signing = signingOf({
  user: 1,
  pool: { at: 0, addressOf: ({ base, quote }) => poolOf(base, quote) },
  coin: { mint: 3, program: 11, account: 5 },
  money: { mint: 4, program: 12, account: 6 },
  buy,
  buyExactIn: buyExactQuoteIn,
  buying: { accountCount: [23, 27], dataBytes: [24, 25] },
  sell,
  selling: { accountCount: [21, 26], dataBytes: [24, 24] },
  extendAccount,
});
