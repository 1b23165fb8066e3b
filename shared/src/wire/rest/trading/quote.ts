import { Type, type Static } from 'typebox';
import { quotedVenueNames, venueNames } from '../../venues.ts';
import { Fees } from '../../values/event-parts.ts';
import { defineEndpoint } from '../endpoint.ts';
import { Venue } from '../fields.ts';
import {
  Address,
  Closed,
  closed,
  Decimals,
  exampleMint,
  Ms,
  Nullable,
  percentPattern,
  Raw,
  RequestedMint,
  RequestedSale,
  Slot,
  Titled,
  Ui,
} from '../../values/values.ts';

/** What a buy may spend: SOL, or coins that are worth as much. */
export const buyLimits = { min: 0.001, max: 100 } as const;
/** Slippage in percent. */
export const slippageLimits = { min: 0.1, max: 50, default: 10 } as const;
export const Slippage = () =>
  Type.Optional(
    Type.Number({
      minimum: slippageLimits.min,
      maximum: slippageLimits.max,
      default: slippageLimits.default,
      'x-unit': 'percent',
      description: 'Percent that the price may move against the trader; at most two decimals.',
    }),
  );

const { min, max } = buyLimits;
export const buyAmountMeaning = `Quote coins to spend, with all fees of the venue: ${min} to ${max} SOL, or coins of that value if the token trades against another coin, for example USDC. While the value of that coin in SOL is unknown, ${min} to ${max} whole coins.`;

/** What a trade gives and costs; the same object in quotes and in the answers of trades. */
export const autoMeaning =
  'Venue. `auto` uses the bonding curve until it is complete, and then the pool with the best quote: the most out for a fixed amount in, or the least in for a fixed amount out. All these pools have one quote coin: SOL, unless the token started in a pool of another coin, or its pools in another coin are ten times as deep.';

export const QuoteObject = Closed({
  inAmount: Raw('What the trader pays: quote coins with all fees for a buy, tokens for a sell.'),
  inDecimals: Decimals(),
  inUiAmount: Ui('inAmount in whole coins.'),
  outAmount: Raw('What the trader receives: tokens for a buy, quote coins after all fees for a sell.'),
  outDecimals: Decimals(),
  outUiAmount: Ui('outAmount in whole coins.'),
  minOut: Raw('The least that the trader receives at this slippage, rounded up.'),
  minOutUiAmount: Ui('minOut in whole coins.'),
  maxIn: Raw('Maximum amount that the trader pays.'),
  maxInUiAmount: Ui('maxIn in whole coins.'),
  price: Ui('Quote coins for one token on average, fees included.'),
  priceImpactPct: Type.Number({
    minimum: 0,
    description:
      'How much worse the average price of the trade is than the price before it, without fees; percent, rounded up to hundredths.',
  }),
  fees: Fees,
  feeTotal: Raw(
    'Sum of all fees in the quote coin, at the rate of this trade. `inAmount` of a buy contains them, and they are already subtracted from `outAmount` of a sell.',
  ),
  feeTotalUi: Ui('feeTotal in whole quote coins.'),
  tip: Type.Optional(
    Raw(
      'Tips of the transaction for a Jito block engine or a Helius Sender, lamports. They are not in `feeTotal`. Absent if there are none.',
    ),
  ),
  tipUi: Type.Optional(Ui('The same in SOL.')),
});
export type QuoteObject = Static<typeof QuoteObject>;

const notAll = { sellAll: { const: false } };
/** Which fields go together. */
const quoteForms = [
  { properties: { side: { const: 'buy' }, amount: { type: 'number', exclusiveMinimum: 0 }, ...notAll }, required: ['amount'] },
  { properties: { side: { const: 'sell' }, amount: { type: 'number', exclusiveMinimum: 0 }, ...notAll }, required: ['amount'] },
  {
    properties: { side: { const: 'sell' }, amount: { type: 'string', pattern: percentPattern }, ...notAll },
    required: ['amount', 'publicKey'],
  },
  { properties: { side: { const: 'sell' }, sellAll: { const: true } }, required: ['sellAll', 'publicKey'], not: { required: ['amount'] } },
];

export const QuoteBody = Type.Object(
  {
    side: Type.Enum(['buy', 'sell'], { description: "The taker's side." }),
    mint: RequestedMint(),
    amount: Type.Optional(
      RequestedSale(
        `For a buy: ${buyAmountMeaning} For a sell: tokens, or a part of the balance of \`publicKey\`, for example "50%". A number can have as many decimals as the coin, a percentage four.`,
      ),
    ),
    sellAll: Type.Optional(
      Type.Boolean({ description: 'Sells the whole balance in the associated token account of `publicKey`. Omit `amount` then.' }),
    ),
    slippage: Slippage(),
    pool: Type.Optional(
      Type.Enum(['auto', ...venueNames], {
        default: 'auto',
        documented: { enum: ['auto', ...quotedVenueNames] },
        description: `${autoMeaning} A venue without quotes is refused.`,
      }),
    ),
    publicKey: Type.Optional(Address('Wallet that sells. Required for a percentage and for `sellAll`.')),
  },
  { ...closed, documented: { anyOf: quoteForms }, examples: [{ side: 'buy', mint: exampleMint, amount: 0.1 }] },
);
export type QuoteBody = Static<typeof QuoteBody>;

export const QuoteAnswer = Titled('quote', {
  side: Type.Enum(['buy', 'sell']),
  mint: Address('Mint.'),
  pool: Venue('Venue of the trade.'),
  poolAddress: Address('The bonding curve or pool.'),
  quoteMint: Address('Mint of the quote coin; wrapped SOL for SOL.'),
  quote: QuoteObject,
  completesCurve: Nullable(
    Type.Boolean({ description: 'This buy takes the last tokens of the curve, which then moves to a pool.' }),
    'Null if the venue has no curve.',
  ),
  cut: Type.Boolean({ description: 'The curve has fewer tokens left than the amount could buy. Only these are bought, for less.' }),
  slot: Slot('Slot of the reserves.'),
  ageMs: Ms('Age of the reserves: the time since they were requested.'),
  feesSlot: Slot('Slot of the fee tables.'),
  feesAgeMs: Ms('Age of the fee tables.'),
});
export type QuoteAnswer = Static<typeof QuoteAnswer>;

export const quoteEndpoint = defineEndpoint({
  id: 'quote',
  method: 'POST',
  path: '/quote',
  withApiPrefix: true,
  access: 'read',
  // A ticket quotes both sides once a second, and at most twice.
  pageQuota: { perMinute: 300, burst: 60 },
  tag: 'trading',
  summary: 'What a buy or sell would give now, without building a transaction.',
  description:
    'Calculated with the integer arithmetic of the program and the current fees of the token. It does not contain the rent of accounts that a first trade creates, the network fee and tips. Reserves are at most 400 ms old, fee tables 30 s.',
  body: QuoteBody,
  answer: QuoteAnswer,
  errors: ['INVALID_MINT', 'INSUFFICIENT_BALANCE', 'NOT_FOUND', 'UPSTREAM_UNAVAILABLE'],
});
