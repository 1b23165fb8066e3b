import { Type, type Static } from 'typebox';
import { defineEndpoint } from '../endpoint.ts';
import { priceNullMeaning, priceNullReasons, SolUsd, Venue } from '../fields.ts';
import {
  Address,
  Closed,
  closed,
  Count,
  Decimals,
  exampleWallet,
  Group,
  maxLabelChars,
  Ms,
  Nullable,
  Raw,
  SignedRaw,
  Slot,
  Titled,
  TokenName,
  Ui,
  UnixMs,
} from '../../values/values.ts';

/** Maximum number of mints that one answer lists. */
export const maxHoldings = 1_000;

const share = Nullable(
  Type.Number({ minimum: 0, maximum: 100, description: 'Part of the total value, percent.' }),
  'Null if the value or the total is unknown.',
);

const Sol = Group('What the wallet holds in SOL.', {
  amount: Raw('Lamports in the wallet itself; wrapped SOL is among the holdings.'),
  decimals: Decimals(),
  uiAmount: Ui('SOL.'),
  priceUsd: Nullable(Ui('USD for one SOL.'), 'Null if `solUsd` is.'),
  valueUsd: Nullable(Ui('Value in USD.'), 'Null if `solUsd` is.'),
  sharePercent: share,
});

const unpricedReasons = [...priceNullReasons, 'not_looked_up', 'nft'] as const;
export type UnpricedReason = (typeof unpricedReasons)[number];

const Holding = Closed({
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
});

/** What a paper wallet begins with on each chain, and the most that its owner may set, SOL. */
export const paperSol = { start: 10, max: 1_000_000 } as const;

const SolToSet = (description: string) => Type.Number({ minimum: 0, maximum: paperSol.max, 'x-unit': 'SOL', description });

/** Where the result of a paper wallet begins. */
const paperStart = {
  startAmount: SignedRaw('Lamports that its owner put into the wallet. Negative if its owner took out more than that.'),
  startUiAmount: Type.Number({ description: 'startAmount in SOL.' }),
  startedAtMs: Nullable(
    UnixMs('Since when its result counts, Unix milliseconds.'),
    'Null until its first order, or until its owner sets the balance.',
  ),
} as const;

export const Portfolio = Titled('portfolio', {
  publicKey: Address('The wallet.'),
  asOfMs: Ms('Unix time of this answer. An answer may be reused for up to 2 s, unless the wallet has traded since.'),
  simulated: Type.Optional(Type.Literal(true, { description: 'Present and true if the chain is simulated.' })),
  paper: Type.Optional(
    Group(
      'Present if it is a paper wallet: its balances are on paper, and nothing of them is on the chain. Its holdings without a price count as 0.',
      {
        ...paperStart,
        resultSol: Type.Number({
          description: 'Value of the wallet now, less startUiAmount: what its trades have gained or lost, with all fees. SOL.',
        }),
        resultPct: Nullable(Type.Number({ description: 'The same in percent of startUiAmount.' }), 'Null if startUiAmount is not above 0.'),
      },
    ),
  ),
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
  totals: Closed({
    valueSol: Ui('SOL and all holdings with a price, in SOL.'),
    valueUsd: Nullable(Ui('The same in USD.'), 'Null if `solUsd` is.'),
    priced: Count('Holdings with a price.'),
    unpriced: Count('Holdings without a price. Their value is not in the totals.'),
  }),
});
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
    'For a paper wallet of the account (`TRADING=paper`) the answer has its balances on paper, and `paper`. A wallet that never existed has no holdings. This is not an error. The answer contains every trade of the wallet that the stream of this gateway has shown. If no node has reached the slot of the last one within 3 s, the answer is `UPSTREAM_UNAVAILABLE`.',
  params: Closed({ publicKey: Address('The wallet.') }),
  answer: Portfolio,
  errors: ['UPSTREAM_UNAVAILABLE'],
});

const PaperWallet = Titled('paper wallet', {
  publicKey: Address('The wallet. It is an address without a secret key: coins that are sent to it on a real chain are lost.'),
  label: Nullable(Type.String({ maxLength: maxLabelChars }), 'The note of its owner; null if there is none.'),
  amount: Raw('Lamports on paper.'),
  decimals: Decimals(),
  uiAmount: Ui('SOL on paper.'),
  ...paperStart,
});
export type PaperWallet = Static<typeof PaperWallet>;

const paper = {
  method: 'POST',
  withApiPrefix: true,
  access: 'trade',
  tag: 'trading',
  answer: PaperWallet,
  errors: ['UPSTREAM_UNAVAILABLE'],
} as const;

const onlyOnPaper = 'Only while the server trades on paper (`TRADING=paper`); otherwise the answer is `FORBIDDEN`.';

export const paperWalletEndpoint = defineEndpoint({
  ...paper,
  id: 'paperWallet',
  path: '/paper/wallets',
  summary: 'Makes a paper wallet for the account of the key.',
  description: `The wallet needs no passphrase and no keystore, because it has no secret key. ${onlyOnPaper}`,
  body: Type.Object(
    {
      label: Type.Optional(Type.String({ maxLength: maxLabelChars, description: 'A note.' })),
      amount: Type.Optional(SolToSet(`SOL to begin with. Default: ${paperSol.start}.`)),
    },
    { ...closed, examples: [{ label: 'first strategy', amount: 5 }] },
  ),
});

export const paperBalanceEndpoint = defineEndpoint({
  ...paper,
  id: 'paperBalance',
  path: '/paper/balance',
  summary: 'Sets the SOL of a paper wallet, or begins again.',
  description: `The balance belongs to the chain of the nodes: on another chain, a wallet begins with ${paperSol.start} SOL. \`GET /portfolio/{publicKey}\` shows the balance, the tokens and the result. ${onlyOnPaper}`,
  body: Type.Object(
    {
      publicKey: Address('A paper wallet of the account.'),
      amount: SolToSet('SOL that the wallet has then.'),
      reset: Type.Optional(
        Type.Boolean({
          default: false,
          description: 'If true, the wallet also loses all tokens, and its result counts from now on. Its past orders stay.',
        }),
      ),
    },
    { ...closed, examples: [{ publicKey: exampleWallet, amount: 10, reset: true }] },
  ),
});
