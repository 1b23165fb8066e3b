import { signingOf } from '../fees/signing.ts';
import { curveOf, instructionDiscriminators } from './program.ts';

const { buyV2, buyExactQuoteInV2, sellV2, extendAccount } = instructionDiscriminators;

/** Source: IDL of pump 2.0.0. A trade may create the token accounts of the creator's vault and of the volume accumulator. */
export const signing = signingOf({
  user: 13,
  pool: { at: 10, addressOf: ({ base }) => curveOf(base) },
  coin: { mint: 1, program: 3, account: 14 },
  money: { mint: 2, program: 4, account: 15 },
  buy: buyV2,
  buyExactIn: buyExactQuoteInV2,
  buying: { accountCount: [27, 27], dataBytes: [24, 24] },
  sell: sellV2,
  selling: { accountCount: [26, 26], dataBytes: [24, 24] },
  extendAccount,
});
