import { Type, type Static } from 'typebox';
import { defineEndpoint } from './endpoint.ts';
import { closed, priceNullMeaning, priceNullReasons, SolUsd, Venue } from './fields.ts';
import { Address, Count, Decimals, Ms, Nullable, Raw, Slot, TokenName, Ui } from '../values.ts';

/** Maximum number of mints that one answer lists. */
export const maxHoldings = 1_000;

const share = Nullable(
  Type.Number({ minimum: 0, maximum: 100, description: 'Part of the total value, percent.' }),
  'Null if the value or the total is unknown.',
);

const Sol = Type.Object(
  {
    amount: Raw('Lamports in the wallet itself; wrapped SOL is among the holdings.'),
    decimals: Decimals(),
    uiAmount: Ui('SOL.'),
    priceUsd: Nullable(Ui('USD for one SOL.'), 'Null if `solUsd` is.'),
    valueUsd: Nullable(Ui('Value in USD.'), 'Null if `solUsd` is.'),
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
    name: Nullable(TokenName(), 'Null if it is unknown.'),
    symbol: Nullable(TokenName(), 'Null if it is unknown.'),
    accounts: Count('Token accounts of the wallet with a balance of this mint.'),
    amount: Raw('Their balance in total.'),
    frozenAmount: Raw('The part of it in frozen accounts, which cannot be moved.'),
    decimals: Nullable(Decimals(), 'Null if the mint could not be read.'),
    uiAmount: Nullable(Ui('Whole tokens.'), 'Null if `decimals` is.'),
    nft: Type.Boolean({ description: 'Whether it is an NFT: no decimals and a supply of 1. It is not valued.' }),
    venue: Nullable(Venue('Venue of the main pool.'), 'Null if none is known.'),
    priceSol: Nullable(Ui('SOL for one token.'), 'Null if no current price is known; `unpriced` has the reason.'),
    priceUsd: Nullable(Ui('USD for one token.'), 'Null if `priceSol` or `solUsd` is.'),
    valueSol: Nullable(Ui('Value in SOL.'), 'Null if the price is.'),
    valueUsd: Nullable(Ui('Value in USD.'), 'Null if the price is.'),
    sharePercent: share,
    unpriced: Nullable(
      Type.Enum([...unpricedReasons], {
        description: `${priceNullMeaning} \`not_looked_up\`: the wallet has more tokens than one answer looks up. \`nft\`: it is an NFT.`,
      }),
      'Why there is no price; null if there is one.',
    ),
  },
  closed,
);

export const Portfolio = Type.Object(
  {
    publicKey: Address('The wallet.'),
    asOfMs: Ms('Unix time of this answer. An answer may be reused for up to 2 s, unless the wallet has traded since.'),
    simulated: Type.Optional(Type.Literal(true, { description: 'Present and true if the chain is simulated.' })),
    slot: Slot('Oldest slot of the reads behind this answer.'),
    sol: Sol,
    holdings: Type.Array(Holding, {
      maxItems: maxHoldings,
      description:
        'All mints of which the wallet has a balance: the most valuable first, those without a price last. Empty accounts are only counted.',
    }),
    emptyAccounts: Count('Empty token accounts of the wallet. Closing one returns its rent.'),
    omittedHoldings: Count('Mints that are not listed, because an answer has a maximum. They are not in the totals.'),
    solUsd: SolUsd,
    totals: Type.Object(
      {
        valueSol: Ui('SOL and all holdings with a price, in SOL.'),
        valueUsd: Nullable(Ui('The same in USD.'), 'Null if `solUsd` is.'),
        priced: Count('Holdings with a price.'),
        unpriced: Count('Holdings without a price. Their value is not in the totals.'),
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
  withApiPrefix: true,
  access: 'read',
  tag: 'portfolio',
  summary: 'All holdings of one wallet with their values: SOL, SPL Token and Token-2022.',
  description:
    'A wallet that never existed has no holdings. This is not an error. The answer contains every trade of the wallet that the stream of this gateway has shown. If no node has reached the slot of the last one within 3 s, the answer is `UPSTREAM_UNAVAILABLE`.',
  params: Type.Object({ publicKey: Address('The wallet.') }, closed),
  answer: Portfolio,
  errors: ['UPSTREAM_UNAVAILABLE'],
});
