import { Type, type Static } from 'typebox';
import { defineEndpoint } from './endpoint.ts';
import { Address, closed, Count, Ms, OrNull, priceNullMeaning, priceNullReasons, Raw, Slot, SolUsd, Ui, Venue } from './fields.ts';

const share = OrNull(
  Type.Number({ minimum: 0, maximum: 100, description: 'Part of the total value, percent.' }),
  'Null where the value, or the total, is not known.',
);

const Sol = Type.Object(
  {
    amount: Raw('Lamports in the wallet itself; wrapped SOL is among the holdings.'),
    decimals: Type.Integer(),
    uiAmount: Ui('SOL.'),
    priceUsd: OrNull(Ui('USD for one SOL.'), 'Null where `solUsd` is.'),
    valueUsd: OrNull(Ui('Value in USD.'), 'Null where `solUsd` is.'),
    sharePercent: share,
  },
  { ...closed, description: 'What the wallet holds in SOL.' },
);

const unpricedReasons = [...priceNullReasons, 'not_looked_up', 'nft'] as const;
export type UnpricedReason = (typeof unpricedReasons)[number];

const Holding = Type.Object(
  {
    mint: Address('Mint.'),
    tokenProgram: Address('SPL Token or Token-2022.'),
    name: OrNull(Type.String(), 'Null where it is not known.'),
    symbol: OrNull(Type.String(), 'Null where it is not known.'),
    accounts: Count('Token accounts of the wallet for this mint, that hold any.'),
    amount: Raw('What they hold together.'),
    frozenAmount: Raw('Part of it in frozen accounts: it cannot be moved.'),
    decimals: OrNull(Type.Integer(), 'Null where the mint could not be read.'),
    uiAmount: OrNull(Ui('Whole tokens.'), 'Null where `decimals` is.'),
    nft: Type.Boolean({ description: 'A single one of its kind: no decimals and a supply of 1. It is not valued.' }),
    venue: OrNull(Venue('Venue of the main pool.'), 'Null where none is known.'),
    priceSol: OrNull(Ui('SOL for one token.'), 'Null rather than stale: `unpriced` says why.'),
    priceUsd: OrNull(Ui('USD for one token.'), 'Null like `priceSol`, and where `solUsd` is.'),
    valueSol: OrNull(Ui('Value in SOL.'), 'Null where the price is.'),
    valueUsd: OrNull(Ui('Value in USD.'), 'Null where the price is.'),
    sharePercent: share,
    unpriced: OrNull(
      Type.Enum([...unpricedReasons], {
        description: `${priceNullMeaning} \`not_looked_up\`: more tokens than are looked up for one answer. \`nft\`: one of a kind.`,
      }),
      'Why there is no price; null where there is one.',
    ),
  },
  closed,
);

export const Portfolio = Type.Object(
  {
    publicKey: Address('The wallet.'),
    asOfMs: Ms('Unix time of this answer. An answer may be given again for up to 2 s.'),
    simulated: Type.Optional(Type.Literal(true, { description: 'Present and true where the chain is the simulated one.' })),
    slot: Slot('Oldest slot of what was read of the wallet.'),
    sol: Sol,
    holdings: Type.Array(Holding, {
      description:
        'Every mint that the wallet holds any of, most valuable first, then those without a price. Empty accounts are left out and counted.',
    }),
    emptyAccounts: Count('Token accounts of the wallet that hold nothing; closing one gives its rent back.'),
    omittedHoldings: Count('Mints beyond the most that one answer lists. The totals do not have them.'),
    solUsd: SolUsd,
    totals: Type.Object(
      {
        valueSol: Ui('SOL and all holdings with a price, in SOL.'),
        valueUsd: OrNull(Ui('The same in USD.'), 'Null where `solUsd` is.'),
        priced: Count('Holdings with a price.'),
        unpriced: Count('Holdings without: their value is not in the totals.'),
      },
      closed,
    ),
  },
  { ...closed, title: 'portfolio' },
);
export type Portfolio = Static<typeof Portfolio>;

export const portfolioEndpoint = defineEndpoint({
  id: 'portfolio',
  method: 'GET',
  path: '/portfolio/{publicKey}',
  bothForms: true,
  access: 'read',
  tag: 'portfolio',
  summary: 'All that one wallet holds: SOL, SPL Token and Token-2022, valued.',
  description: 'A wallet that never existed holds nothing: that is an answer, not an error.',
  params: Type.Object({ publicKey: Address('The wallet.') }, closed),
  answer: Portfolio,
  errors: ['UPSTREAM_UNAVAILABLE'],
});
