import { Type } from 'typebox';

/** Names of the venues, as `pool` in events and requests. */
export const venueNames = [
  'pump',
  'pump-amm',
  'launchlab',
  'raydium-cpmm',
  'raydium-amm',
  'raydium-clmm',
  'meteora-dbc',
  'meteora-damm-v2',
  'meteora-dlmm',
  'orca-whirlpool',
] as const;
export type VenueName = (typeof venueNames)[number];

/** Kinds of fees, each charged in addition to the amount through the pool. */
export const feeKinds = ['protocol', 'creator', 'lp', 'cashback', 'holderRewards'] as const;
export type FeeKind = (typeof feeKinds)[number];

export const commitments = ['processed', 'confirmed', 'finalized'] as const;
export type Commitment = (typeof commitments)[number];

export const Raw = (description: string) =>
  Type.String({ pattern: '^[0-9]+$', description: `${description} Raw integer in its smallest unit, as a decimal string.` });
export const Ui = (description: string) => Type.Number({ description: `${description} UI number (float64).` });
export const Address = (description: string) =>
  Type.String({ pattern: '^[1-9A-HJ-NP-Za-km-z]{32,44}$', description: `${description} Base58.` });
/** Base58 of 64 bytes. */
export const Signature = () => Type.String({ pattern: '^[1-9A-HJ-NP-Za-km-z]{64,88}$' });
export const EventId = (description: string) => Type.String({ pattern: '^[0-9A-Za-z.:+-]+$', description });
export const Nullable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T, description?: string) =>
  Type.Union([schema, Type.Null()], description === undefined ? {} : { description });

/** Fees of one trade, of an event or of a quote. */
export const Fees = Type.Array(
  Type.Object(
    {
      kind: Type.Enum([...feeKinds], {
        description:
          '`cashback` is credited to the trader, who can claim it; `holderRewards` are paid to the holders of the token; `lp` goes to liquidity providers.',
      }),
      amount: Raw('Amount.'),
      bps: Type.Integer({ minimum: 0, description: 'Rate in basis points.' }),
      mint: Address('Mint of the coin in which it was charged.'),
    },
    { additionalProperties: false, title: 'fee' },
  ),
  { description: 'Fees of the venue, one for each kind that was charged.' },
);

/** Names of special properties of a token. */
export const Traits = Type.Array(Type.String({ pattern: '^[a-zA-Z]+$' }), {
  description:
    'Special properties that the venue gave the token. pump: `mayhemMode` (the venue moves reserves and supply), `cashback` (traders get a part of the fees back), `holderReward` (the creator fee goes to the holders).',
});

export const Venue = Type.Enum([...venueNames], { description: 'Venue of the pool.' });
