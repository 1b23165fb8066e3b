import { Type } from 'typebox';
import { feeKinds, venueNames } from '../venues.ts';
import { Address, Bps, Raw, Titled } from './values.ts';

export const commitments = ['processed', 'confirmed', 'finalized'] as const;
export type Commitment = (typeof commitments)[number];

/** Fees of one trade, of an event or of a quote. */
export const Fees = Type.Array(
  Titled('fee', {
    kind: Type.Enum([...feeKinds], {
      description:
        'Who receives the fee. `protocol`, `fund`: the maker of the program. `creator`: the creator of the token or pool. `lp`: the liquidity providers. `holderRewards`: the holders of the token. `cashback`: the trader, who can claim the amount. `platform`: the site that launched the token. `share`: the partner of the site. `partner`: the account that set up the pool. `referral`, `host`: the application that sent the trade. `transfer`: the mint of a coin that takes a fee from transfers.',
    }),
    amount: Raw('Amount.'),
    bps: Bps('Rate in basis points.'),
    mint: Address('Mint of the coin in which it was charged.'),
  }),
  {
    // Both coins can withhold a fee.
    maxItems: feeKinds.length + 1,
    description:
      'All that was charged in addition to the amounts through the pool, one entry for each kind and coin. Of the coin that the trader gave, he paid the amount plus the fees in that coin. Of the other coin, he received the amount less the fees in that coin.',
  },
);

/** Names of special properties of a token. */
export const Traits = Type.Array(Type.String({ pattern: '^[a-zA-Z]{1,32}$' }), {
  maxItems: 16,
  description:
    'Special properties that the venue gave the token. pump: `mayhemMode` (the venue moves reserves and supply), `cashback` (traders get a part of the fees back), `holderReward` (the creator fee goes to the holders).',
});

export const Venue = Type.Enum([...venueNames], { description: 'Venue of the pool.' });
