import { Type, type Static } from 'typebox';
import { Fees } from '../event-parts.ts';
import { venueNames } from '../events.ts';
import { defineEndpoint } from './endpoint.ts';
import { Address, closed, Ms, OrNull, Raw, Slot, Ui, Venue } from './fields.ts';

/** Whole quote coins that a buy may spend. */
export const buyLimits = { min: 0.001, max: 100 } as const;
/** Percent. */
export const slippageLimits = { min: 0.1, max: 50, default: 10 } as const;

/** What a trade gives and costs; the same object in quotes and in the answers of trades. */
export const QuoteObject = Type.Object(
  {
    inAmount: Raw('What the trader gives: of a buy quote coins, all fees inside; of a sell tokens.'),
    inDecimals: Type.Integer(),
    inUiAmount: Ui('inAmount in whole coins.'),
    outAmount: Raw('What the trader gets: of a buy tokens; of a sell quote coins, all fees off.'),
    outDecimals: Type.Integer(),
    outUiAmount: Ui('outAmount in whole coins.'),
    minOut: Raw('Least that the slippage lets the trader get, rounded up.'),
    minOutUiAmount: Ui('minOut in whole coins.'),
    maxIn: Raw('Most that the trader gives.'),
    maxInUiAmount: Ui('maxIn in whole coins.'),
    price: Ui('Quote coins for one token on average, fees included.'),
    priceImpactPct: Type.Number({
      minimum: 0,
      description:
        'How much worse than the price of the pool before it the trade is on average, fees apart; percent, rounded up to a hundredth.',
    }),
    fees: Fees,
    feeTotal: Raw(
      'All fees in the quote coin, at the rate of this trade. Inside `inAmount` of a buy, and already off `outAmount` of a sell.',
    ),
    feeTotalUi: Ui('feeTotal in whole quote coins.'),
    tip: Type.Optional(
      Raw(
        'Lamports that the transaction pays in addition, to be accepted by a Jito block engine or a Helius Sender; missing if it pays none.',
      ),
    ),
    tipUi: Type.Optional(Ui('The same in SOL.')),
  },
  closed,
);
export type QuoteObject = Static<typeof QuoteObject>;

export const QuoteBody = Type.Object(
  {
    side: Type.Enum(['buy', 'sell'], { description: "The taker's side." }),
    mint: Type.String({ maxLength: 64, description: 'Mint of the token, base58.' }),
    amount: Type.Optional(
      Type.Union([Type.Number(), Type.String({ maxLength: 16 })], {
        description: `Of a buy: whole quote coins to spend, all fees inside, ${buyLimits.min}–${buyLimits.max}: SOL, or, of a coin that trades against another coin, that one (say USDC). Of a sell: whole tokens, or a part of what \`publicKey\` holds, as "50%". A number has at most as many decimals as the coin, a percentage four.`,
      }),
    ),
    sellAll: Type.Optional(
      Type.Boolean({ description: 'Sells all that `publicKey` holds in its associated token account; `amount` is then left out.' }),
    ),
    slippage: Type.Optional(
      Type.Number({
        minimum: slippageLimits.min,
        maximum: slippageLimits.max,
        default: slippageLimits.default,
        description: 'Percent that the price may move against the trader; at most two decimals.',
      }),
    ),
    pool: Type.Optional(
      Type.Enum(['auto', ...venueNames], {
        default: 'auto',
        description:
          'Venue. `auto` is the bonding curve until it is complete, then the pool with the best quote: most out for a fixed amount in, least in for a fixed amount out. A venue that is not quoted yet is refused.',
      }),
    ),
    publicKey: Type.Optional(Address('Wallet that sells: needed for a percentage and for `sellAll`.')),
  },
  { ...closed, examples: [{ side: 'buy', mint: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v', amount: 0.5 }] },
);
export type QuoteBody = Static<typeof QuoteBody>;

export const QuoteAnswer = Type.Object(
  {
    side: Type.Enum(['buy', 'sell']),
    mint: Address('Mint.'),
    pool: Venue('Venue that would be traded on.'),
    poolAddress: Address('The bonding curve or pool.'),
    quoteMint: Address('Mint of the quote coin; wrapped SOL for SOL.'),
    quote: QuoteObject,
    completesCurve: OrNull(
      Type.Boolean({ description: 'This buy takes the last tokens of the curve, which then moves to a pool.' }),
      'Null where the venue is no curve.',
    ),
    cut: Type.Boolean({ description: 'The curve has fewer tokens left than the sum would buy: only those are bought, for less.' }),
    slot: Slot('Slot of the reserves.'),
    ageMs: Ms('Age of the reserves: the time since they were asked for.'),
    feesSlot: Slot('Slot of the fee tables.'),
    feesAgeMs: Ms('Age of the fee tables.'),
  },
  { ...closed, title: 'quote' },
);
export type QuoteAnswer = Static<typeof QuoteAnswer>;

export const quoteEndpoint = defineEndpoint({
  id: 'quote',
  method: 'POST',
  path: '/quote',
  bothForms: true,
  access: 'read',
  tag: 'trading',
  summary: 'What a buy or sell would give now, without building a transaction.',
  description:
    'Reckoned in the integers of the program, with the fees that the coin pays now. The rent of accounts that a first trade makes, the network fee and tips are not in it. Reserves are at most 400 ms old when they are reckoned with, fee tables 30 s.',
  body: QuoteBody,
  answer: QuoteAnswer,
  errors: ['INVALID_MINT', 'INSUFFICIENT_BALANCE', 'NOT_FOUND', 'UPSTREAM_UNAVAILABLE'],
});
