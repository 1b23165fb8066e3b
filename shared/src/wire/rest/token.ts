import { Type, type Static } from 'typebox';
import { Traits } from '../event-parts.ts';
import { candleFields, metadataFields, Reserves, TradeEvent } from '../events.ts';
import { candleIntervalNames } from '../intervals.ts';
import { defineEndpoint } from './endpoint.ts';
import { Address, closed, Count, Ms, OrNull, priceNullMeaning, priceNullReasons, Raw, Slot, SolUsd, Ui, Venue } from './fields.ts';

/** The mint in the path; anything else is refused with INVALID_MINT. */
const mintParams = Type.Object({ mint: Type.String({ description: 'Mint of the token, base58.' }) }, closed);

const TransferFee = Type.Object(
  {
    bps: Type.Integer({ minimum: 0, description: 'Withheld from every transfer, basis points.' }),
    maxFee: Raw('Most that one transfer pays.'),
    nextBps: OrNull(Type.Integer({ minimum: 0 }), 'Set already for a later epoch; null where nothing else is set.'),
    nextMaxFee: OrNull(Raw('Most that one transfer then pays.'), 'Null like `nextBps`.'),
    nextEpoch: OrNull(Type.Integer({ minimum: 0 }), 'The first epoch in which it holds; null like `nextBps`.'),
    configAuthority: OrNull(Address('May change the fee.'), 'Null: nobody may.'),
    withdrawAuthority: OrNull(Address('May take what was withheld.'), 'Null: nobody may.'),
  },
  closed,
);

const Extensions = Type.Object(
  {
    transferFee: OrNull(TransferFee, 'A fee is withheld from transfers; null where the mint has no such extension.'),
    transferHook: OrNull(
      Type.Object(
        {
          programId: OrNull(Address('Program called with every transfer, which it can refuse.'), 'Null: none now.'),
          authority: OrNull(Address('May set the program.'), 'Null: nobody may.'),
        },
        closed,
      ),
      'Null where the mint has no such extension.',
    ),
    permanentDelegate: OrNull(Address('May move or burn the tokens of every holder.'), 'Null: nobody may.'),
    defaultAccountState: OrNull(
      Type.Enum(['initialized', 'frozen'], { description: 'How new token accounts begin; `frozen` ones can neither receive nor send.' }),
      'Null where the mint has no such extension.',
    ),
    nonTransferable: Type.Boolean({ description: 'Tokens cannot be moved, only burned.' }),
    pausable: OrNull(
      Type.Object(
        {
          paused: Type.Boolean({ description: 'No transfers, mints or burns now.' }),
          authority: OrNull(Address('May pause and resume.'), 'Null: nobody may.'),
        },
        closed,
      ),
      'Null where the mint has no such extension.',
    ),
    confidentialTransfer: Type.Boolean({ description: 'Amounts of transfers may be hidden.' }),
    interestBearing: OrNull(
      Type.Object(
        {
          rateBps: Type.Integer({ description: 'Interest a year that UI amounts grow by, basis points; may be negative.' }),
          authority: OrNull(Address('May set the rate.'), 'Null: nobody may.'),
        },
        closed,
      ),
      'UI amounts elsewhere may be shown with it; here they never are. Null where the mint has no such extension.',
    ),
    scaledUiAmount: OrNull(
      Type.Object(
        {
          multiplier: Type.Number({ description: 'UI amounts elsewhere are multiplied by it; here they never are.' }),
          authority: OrNull(Address('May set it.'), 'Null: nobody may.'),
        },
        closed,
      ),
      'Null where the mint has no such extension.',
    ),
    closeAuthority: OrNull(Address('May close the mint once its supply is 0.'), 'Null: nobody may.'),
    others: Type.Array(Type.Integer({ minimum: 0 }), {
      description: 'Types of extensions of the mint that stand in no field above and are no metadata, by their numbers in Token-2022.',
    }),
  },
  { ...closed, description: 'What the mint can do to its holders. All null or false for SPL Token mints, which have no extensions.' },
);

const Window = Type.Object(
  {
    buys: Count('Buys.'),
    sells: Count('Sells.'),
    volumeSol: Ui('SOL through the pools; of trades in another quote coin what that was worth in SOL, where it is known.'),
    volumeUsd: Ui('USD through the pools; trades without a price in USD are not in it.'),
  },
  closed,
);

const Windows = OrNull(
  Type.Object(
    { '5m': Window, '1h': Window, '24h': Window },
    {
      ...closed,
      description:
        'Trades in all pools that are followed, by block time: of the minute under way and the 4, 59 or 1,439 before it. What happened before this installation followed the chain is not in it.',
    },
  ),
  'Null where the record of trades cannot be read.',
);

const OffChain = OrNull(
  Type.Object(metadataFields, closed),
  'What the JSON behind `uri` says; null where it is not known (yet): the first question for it begins to fetch it.',
);

export const TokenInfo = Type.Object(
  {
    mint: Address('Mint.'),
    asOfMs: Ms('Unix time of this answer; all ages are by it. An answer may be given again for up to 250 ms.'),
    simulated: Type.Optional(Type.Literal(true, { description: 'Present and true where the chain is the simulated one.' })),
    name: OrNull(Type.String(), 'From the metadata in the mint, or of Metaplex, whichever the mint points to. Null where it has none.'),
    symbol: OrNull(Type.String(), 'Like `name`.'),
    uri: OrNull(Type.String(), 'Where the off-chain metadata is. Like `name`.'),
    metadataSource: OrNull(
      Type.Enum(['token-2022', 'metaplex', 'event'], { description: '`event`: from the creation event; no account has it.' }),
      'Where name, symbol and URI are from; null where there are none.',
    ),
    updateAuthority: OrNull(Address('May change name, symbol and URI.'), 'Null where nobody may, or it is not known.'),
    offChain: OffChain,
    tokenProgram: Address('SPL Token or Token-2022.'),
    decimals: Type.Integer({ minimum: 0, maximum: 255 }),
    supply: Raw('Supply as of `chain`.'),
    supplyUi: Ui('Supply in whole tokens.'),
    mintAuthority: OrNull(Address('May make more of it.'), 'Null: nobody may.'),
    freezeAuthority: OrNull(Address('May freeze the accounts of holders.'), 'Null: nobody may.'),
    extensions: Extensions,
    chain: Type.Object(
      { slot: Slot('Slot of the read.'), ageMs: Ms('Age of the read at `asOfMs`.') },
      {
        ...closed,
        description:
          'When supply, authorities, extensions and metadata were read from the chain. While somebody asks, they are read again every minute.',
      },
    ),
    creator: OrNull(Address('Creator by the venue, who earns the creator fee.'), 'Null where it is not known.'),
    traits: OrNull(Traits, 'Null if they are not known.'),
    creatorFeeBps: OrNull(
      Type.Integer({ minimum: 0, description: 'Creator fee that was set for this token; 0 if the venue decides.' }),
      'Null if it is not known.',
    ),
    venue: OrNull(
      Venue(
        'Venue of the main pool: the bonding curve until it is complete, then the pool that it moved to; without either, the pool that traded last.',
      ),
      'Null where no supported venue trades it.',
    ),
    poolAddress: OrNull(Address('The main pool or curve.'), 'Null like `venue`.'),
    quoteMint: OrNull(Address('Its quote coin; wrapped SOL for SOL.'), 'Null like `venue`.'),
    curve: OrNull(
      Type.Object(
        {
          poolAddress: Address('The bonding curve.'),
          progressPercent: OrNull(
            Type.Number({ minimum: 0, maximum: 100 }),
            'Part of its tokens that was sold; null rather than stale, and where it is not known.',
          ),
          complete: Type.Boolean({ description: 'Everything was sold: it trades no more, the coin moves to a pool.' }),
        },
        closed,
      ),
      'Null where the token has no bonding curve.',
    ),
    reserves: OrNull(Reserves, 'Of the main pool, raw integers; null rather than stale, and where they are not known.'),
    priceQuote: OrNull(
      Ui('Quote coins for one token, by the reserves of the main pool.'),
      'Null rather than stale: `priceNullReason` says why.',
    ),
    priceSol: OrNull(Ui('SOL for one token.'), 'Null like `priceQuote`; also where the quote coin leads to no SOL.'),
    priceUsd: OrNull(Ui('USD for one token, by the SOL/USD price of now.'), 'Null like `priceSol`, and where `solUsd` is.'),
    priceNullReason: OrNull(Type.Enum([...priceNullReasons], { description: priceNullMeaning }), 'Null where there is a price.'),
    priceSlot: OrNull(Slot('Slot of the reserves behind the price.'), 'Null where there is no price.'),
    priceAgeMs: OrNull(
      Ms('Time since these reserves were reported, at `asOfMs`. They hold until the next trade.'),
      'Null where there is no price.',
    ),
    solUsd: SolUsd,
    marketCapSol: OrNull(Ui('Price times supply, in SOL.'), 'Null where the price is.'),
    marketCapUsd: OrNull(Ui('Price times supply, in USD.'), 'Null where the price is.'),
    liquiditySol: OrNull(
      Ui('What the main pool holds of its quote coin and can pay out (no virtual reserves), in SOL.'),
      'Null where it is not known.',
    ),
    liquidityUsd: OrNull(Ui('The same in USD.'), 'Null where it is not known.'),
    windows: Windows,
  },
  { ...closed, title: 'tokenInfo' },
);
export type TokenInfo = Static<typeof TokenInfo>;

export const tokenInfoEndpoint = defineEndpoint({
  id: 'tokenInfo',
  method: 'GET',
  path: '/token/info/{mint}',
  bothForms: true,
  access: 'read',
  tag: 'token',
  summary: 'One token: identity, supply, authorities, market, price, volumes.',
  description:
    'A number that is not known is null, never 0. A mint that no supported venue trades is answered too, with `venue` and prices null.',
  params: mintParams,
  answer: TokenInfo,
  errors: ['INVALID_MINT', 'UPSTREAM_UNAVAILABLE'],
});

const Candle = Type.Object(
  {
    ...candleFields,
    closed: Type.Boolean({ description: 'Its time is over by five seconds. A trade that arrives later still counts in it.' }),
  },
  closed,
);
export type Candle = Static<typeof Candle>;

/** Candles of one answer. */
export const candleLimits = { default: 300, max: 1000 } as const;

export const tokenCandlesEndpoint = defineEndpoint({
  id: 'tokenCandles',
  method: 'GET',
  path: '/token/candles/{mint}',
  bothForms: true,
  access: 'read',
  tag: 'token',
  summary: 'Open, high, low, close and volume of one token, by interval.',
  description:
    'Oldest first. Intervals without a trade give no candle. Where more than `limit` lie between `from` and `to`, the newest of them are answered; ask for older ones with `to` set to the `start` of the first.',
  params: mintParams,
  query: Type.Object(
    {
      interval: Type.Optional(Type.Enum(candleIntervalNames, { description: '`1m` where it is not given.' })),
      from: Type.Optional(
        Type.Integer({ minimum: 0, maximum: 9_999_999_999, description: 'Unix seconds; candles that begin at or after it.' }),
      ),
      to: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: 9_999_999_999,
          description: 'Unix seconds; candles that begin before it. Now where it is not given.',
        }),
      ),
      limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: candleLimits.max,
          description: `Most candles; ${candleLimits.default} where it is not given.`,
        }),
      ),
    },
    closed,
  ),
  answer: Type.Object(
    { mint: Address('Mint.'), interval: Type.Enum(candleIntervalNames), candles: Type.Array(Candle) },
    { ...closed, title: 'tokenCandles' },
  ),
  errors: ['INVALID_MINT', 'UPSTREAM_UNAVAILABLE'],
});

/** Trades of one answer. */
export const tradeLimits = { default: 50, max: 200 } as const;

export const tokenTradesEndpoint = defineEndpoint({
  id: 'tokenTrades',
  method: 'GET',
  path: '/token/trades/{mint}',
  bothForms: true,
  access: 'read',
  tag: 'token',
  summary: 'Recent trades of one token, newest first, as on the stream.',
  params: mintParams,
  query: Type.Object(
    {
      before: Type.Optional(
        Type.String({ minLength: 1, maxLength: 160, description: 'Id of a trade: only older ones. As `next` of the answer before.' }),
      ),
      limit: Type.Optional(
        Type.Integer({ minimum: 1, maximum: tradeLimits.max, description: `Most trades; ${tradeLimits.default} where it is not given.` }),
      ),
    },
    closed,
  ),
  answer: Type.Object(
    {
      mint: Address('Mint.'),
      trades: Type.Array(TradeEvent),
      next: OrNull(Type.String(), '`before` for the trades behind these; null if no older ones are stored.'),
    },
    { ...closed, title: 'tokenTrades' },
  ),
  errors: ['INVALID_MINT', 'UPSTREAM_UNAVAILABLE'],
});
