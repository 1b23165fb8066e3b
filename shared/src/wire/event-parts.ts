import { Type } from 'typebox';
import { feeKinds, venueNames } from './venues.ts';
import { Address, Bps, Raw } from './values.ts';

export const commitments = ['processed', 'confirmed', 'finalized'] as const;
export type Commitment = (typeof commitments)[number];

/** Fees of one trade, of an event or of a quote. */
export const Fees = Type.Array(
  Type.Object(
    {
      kind: Type.Enum([...feeKinds], {
        description:
          '`cashback` is credited to the trader, who can claim it; `holderRewards` are paid to the holders of the token; `lp` goes to liquidity providers.',
      }),
      amount: Raw('Amount.'),
      bps: Bps('Rate in basis points.'),
      mint: Address('Mint of the coin in which it was charged.'),
    },
    { additionalProperties: false, title: 'fee' },
  ),
  { maxItems: feeKinds.length, description: 'Fees of the venue, one for each kind that was charged.' },
);

/** Names of special properties of a token. */
export const Traits = Type.Array(Type.String({ pattern: '^[a-zA-Z]{1,32}$' }), {
  maxItems: 16,
  description:
    'Special properties that the venue gave the token. pump: `mayhemMode` (the venue moves reserves and supply), `cashback` (traders get a part of the fees back), `holderReward` (the creator fee goes to the holders).',
});

export const Venue = Type.Enum([...venueNames], { description: 'Venue of the pool.' });
