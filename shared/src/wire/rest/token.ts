import { Type, type Static } from 'typebox';
import { Traits } from '../event-parts.ts';
import { candleFields, metadataFields, Reserves, TradeEvent } from '../events.ts';
import { candleIntervalNames } from '../intervals.ts';
import { defineEndpoint } from './endpoint.ts';
import { Address, closed, Count, Ms, OrNull, priceNullMeaning, priceNullReasons, Raw, Slot, SolUsd, Ui, Venue } from './fields.ts';

/** The mint in the path. A text that is not a mint is refused with INVALID_MINT. */
const mintParams = Type.Object({ mint: Type.String({ description: 'Mint of the token, base58.' }) }, closed);

const TransferFee = Type.Object(
  {
    bps: Type.Integer({ minimum: 0, description: 'Withheld from every transfer, basis points.' }),
    maxFee: Raw('The most that one transfer pays.'),
    nextBps: OrNull(Type.Integer({ minimum: 0 }), 'Rate that is already set for a later epoch; null if there is none.'),
    nextMaxFee: OrNull(Raw('The most that one transfer then pays.'), 'Null if `nextBps` is.'),
    nextEpoch: OrNull(Type.Integer({ minimum: 0 }), 'The first epoch with the new rate; null if `nextBps` is.'),
    configAuthority: OrNull(Address('May change the fee.'), 'Null: no one may.'),
    withdrawAuthority: OrNull(Address('May withdraw the withheld fees.'), 'Null: no one may.'),
  },
  closed,
);

const Extensions = Type.Object(
  {
    transferFee: OrNull(TransferFee, 'Fee that is withheld from transfers; null if the mint has no such extension.'),
    transferHook: OrNull(
      Type.Object(
        {
          programId: OrNull(Address('Program that every transfer calls. It can refuse the transfer.'), 'Null: currently none.'),
          authority: OrNull(Address('May set the program.'), 'Null: no one may.'),
        },
        closed,
      ),
      'Null if the mint has no such extension.',
    ),
    permanentDelegate: OrNull(Address('May move or burn the tokens of every holder.'), 'Null: no one may.'),
    defaultAccountState: OrNull(
      Type.Enum(['initialized', 'frozen'], {
        description: 'State of new token accounts. A `frozen` account can neither receive nor send.',
      }),
      'Null if the mint has no such extension.',
    ),
    nonTransferable: Type.Boolean({ description: 'Tokens cannot be moved, only burned.' }),
    pausable: OrNull(
      Type.Object(
        {
          paused: Type.Boolean({ description: 'Whether transfers, mints and burns are paused now.' }),
          authority: OrNull(Address('May pause and resume.'), 'Null: no one may.'),
        },
        closed,
      ),
      'Null if the mint has no such extension.',
    ),
    confidentialTransfer: Type.Boolean({ description: 'Amounts of transfers may be hidden.' }),
    interestBearing: OrNull(
      Type.Object(
        {
          rateBps: Type.Integer({ description: 'Yearly interest by which UI amounts grow, basis points; may be negative.' }),
          authority: OrNull(Address('May set the rate.'), 'Null: no one may.'),
        },
        closed,
      ),
      'Other programs may display UI amounts with interest; sluice never does. Null if the mint has no such extension.',
    ),
    scaledUiAmount: OrNull(
      Type.Object(
        {
          multiplier: Type.Number({ description: 'Other programs multiply UI amounts by it; sluice never does.' }),
          authority: OrNull(Address('May set it.'), 'Null: no one may.'),
        },
        closed,
      ),
      'Null if the mint has no such extension.',
    ),
    closeAuthority: OrNull(Address('May close the mint once its supply is 0.'), 'Null: no one may.'),
    others: Type.Array(Type.Integer({ minimum: 0 }), {
      description: 'Other extensions of the mint, except metadata, by their type numbers in Token-2022.',
    }),
  },
  {
    ...closed,
    description: 'Extensions of the mint that affect holders. All null or false for SPL Token mints, which have no extensions.',
  },
);

const Window = Type.Object(
  {
    buys: Count('Buys.'),
    sells: Count('Sells.'),
    volumeSol: Ui('Volume in SOL. Trades in another quote coin count with their value in SOL, if it is known.'),
    volumeUsd: Ui('Volume in USD, without trades that had no price in USD.'),
  },
  closed,
);

const Windows = OrNull(
  Type.Object(
    { '5m': Window, '1h': Window, '24h': Window },
    {
      ...closed,
      description:
        'Trades in all followed pools, by block time: in the current minute and the 4, 59 or 1,439 minutes before it. Trades before this installation began to follow the chain are missing.',
    },
  ),
  'Null if the stored trades cannot be read.',
);

const OffChain = OrNull(
  Type.Object(metadataFields, closed),
  'Content of the JSON document at `uri`; null if it is not known yet. The first request starts to fetch it.',
);

export const TokenInfo = Type.Object(
  {
    mint: Address('Mint.'),
    asOfMs: Ms('Unix time of this answer. All ages are relative to it. An answer may be reused for up to 250 ms.'),
    simulated: Type.Optional(Type.Literal(true, { description: 'Present and true if the chain is simulated.' })),
    name: OrNull(Type.String(), 'From the metadata that the mint points to: in the mint itself or of Metaplex. Null if there is none.'),
    symbol: OrNull(Type.String(), 'Like `name`.'),
    uri: OrNull(Type.String(), 'Address of the off-chain metadata. From the same source as `name`.'),
    metadataSource: OrNull(
      Type.Enum(['token-2022', 'metaplex', 'event'], { description: '`event`: from the creation event, because no account has them.' }),
      'Source of name, symbol and URI; null if there is none.',
    ),
    updateAuthority: OrNull(Address('May change name, symbol and URI.'), 'Null if no one may, or if it is unknown.'),
    offChain: OffChain,
    tokenProgram: Address('SPL Token or Token-2022.'),
    decimals: Type.Integer({ minimum: 0, maximum: 255 }),
    supply: Raw('Supply as of `chain`.'),
    supplyUi: Ui('Supply in whole tokens.'),
    mintAuthority: OrNull(Address('May mint more tokens.'), 'Null: no one may.'),
    freezeAuthority: OrNull(Address('May freeze the accounts of holders.'), 'Null: no one may.'),
    extensions: Extensions,
    chain: Type.Object(
      { slot: Slot('Slot of the read.'), ageMs: Ms('Age of the read at `asOfMs`.') },
      {
        ...closed,
        description:
          'When supply, authorities, extensions and metadata were read from the chain. They are read again every minute as long as there are requests.',
      },
    ),
    creator: OrNull(Address('Creator according to the venue, who receives the creator fee.'), 'Null if it is unknown.'),
    traits: OrNull(Traits, 'Null if they are not known.'),
    creatorFeeBps: OrNull(
      Type.Integer({ minimum: 0, description: 'Creator fee that was set for this token; 0 if the venue decides.' }),
      'Null if it is not known.',
    ),
    venue: OrNull(
      Venue(
        'Venue of the main pool: the bonding curve until it is complete, and then the pool to which it migrated. Without a curve, the main pool is chosen by its depth.',
      ),
      'Null if no supported venue trades it.',
    ),
    poolAddress: OrNull(Address('The main pool or curve.'), 'Null if `venue` is.'),
    quoteMint: OrNull(Address('Its quote coin; wrapped SOL for SOL.'), 'Null if `venue` is.'),
    curve: OrNull(
      Type.Object(
        {
          poolAddress: Address('The bonding curve.'),
          progressPercent: OrNull(
            Type.Number({ minimum: 0, maximum: 100 }),
            'Part of its tokens that was sold; null if no current value is known.',
          ),
          complete: Type.Boolean({ description: 'All tokens are sold. The curve no longer trades, and the token moves to a pool.' }),
        },
        closed,
      ),
      'Null if the token has no bonding curve.',
    ),
    reserves: OrNull(Reserves, 'Reserves of the main pool, raw integers; null if no current value is known.'),
    priceQuote: OrNull(
      Ui('Quote coins for one token, from the reserves of the main pool.'),
      'Null if no current price is known; `priceNullReason` has the reason.',
    ),
    priceSol: OrNull(Ui('SOL for one token.'), 'Null if `priceQuote` is, or if the value of the quote coin in SOL is unknown.'),
    priceUsd: OrNull(Ui('USD for one token, at the current SOL/USD price.'), 'Null if `priceSol` or `solUsd` is.'),
    priceNullReason: OrNull(Type.Enum([...priceNullReasons], { description: priceNullMeaning }), 'Null if there is a price.'),
    priceSlot: OrNull(Slot('Slot of the reserves behind the price.'), 'Null if there is no price.'),
    priceAgeMs: OrNull(Ms('Age of these reserves at `asOfMs`. They stay valid until the next trade.'), 'Null if there is no price.'),
    solUsd: SolUsd,
    marketCapSol: OrNull(Ui('Price times supply, in SOL.'), 'Null if the price is.'),
    marketCapUsd: OrNull(Ui('Price times supply, in USD.'), 'Null if the price is.'),
    liquiditySol: OrNull(
      Ui('Quote coins that the main pool holds and can pay out (without virtual reserves), in SOL.'),
      'Null if it is unknown.',
    ),
    liquidityUsd: OrNull(Ui('The same in USD.'), 'Null if it is unknown.'),
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
  description: 'An unknown number is null, never 0. For a mint that no supported venue trades, `venue` and the prices are null.',
  params: mintParams,
  answer: TokenInfo,
  errors: ['INVALID_MINT', 'UPSTREAM_UNAVAILABLE'],
});

const Candle = Type.Object(
  {
    ...candleFields,
    closed: Type.Boolean({
      description: 'The interval ended at least five seconds ago. A trade that arrives later still changes the candle.',
    }),
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
  summary: 'Candles of one token: open, high, low, close and volume for each interval.',
  description:
    'Oldest first. An interval without a trade has no candle. If there are more than `limit` between `from` and `to`, the newest are returned. For older ones, set `to` to the `start` of the first.',
  params: mintParams,
  query: Type.Object(
    {
      interval: Type.Optional(Type.Enum(candleIntervalNames, { description: 'Default: `1m`.' })),
      from: Type.Optional(
        Type.Integer({ minimum: 0, maximum: 9_999_999_999, description: 'Unix seconds; candles that begin at or after it.' }),
      ),
      to: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: 9_999_999_999,
          description: 'Unix seconds; candles that begin before it. Default: now.',
        }),
      ),
      limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: candleLimits.max,
          description: `The most candles to return. Default: ${candleLimits.default}.`,
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
        Type.String({ minLength: 1, maxLength: 160, description: 'Return only trades older than this id: `next` of the previous answer.' }),
      ),
      limit: Type.Optional(
        Type.Integer({ minimum: 1, maximum: tradeLimits.max, description: `The most trades to return. Default: ${tradeLimits.default}.` }),
      ),
    },
    closed,
  ),
  answer: Type.Object(
    {
      mint: Address('Mint.'),
      trades: Type.Array(TradeEvent),
      next: OrNull(Type.String(), 'Send it as `before` for the next, older trades; null if no older ones are stored.'),
    },
    { ...closed, title: 'tokenTrades' },
  ),
  errors: ['INVALID_MINT', 'UPSTREAM_UNAVAILABLE'],
});
