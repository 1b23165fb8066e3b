import { Type, type Static, type TObject, type TProperties } from 'typebox';
import { Address, commitments, EventId, Fees, Nullable, Raw, Signature, Traits, Ui, Venue } from './event-parts.ts';
import { candleIntervalNames } from './intervals.ts';
import { OrderEvent } from './order-event.ts';

export { commitments, venueNames, type Commitment, type VenueName } from './event-parts.ts';

/** What every event carries. */
const common = {
  id: EventId(
    '`<signature>:<instruction path>`: unique, and the same from every source. The path is the index of the top-level instruction, then `.` and the index of the inner instruction that emitted it, where it was an inner one; further events of the same instruction add `+1`, `+2` …; a price derived from a trade adds `.price`, the metadata of a new token `.metadata`.',
  ),
  mint: Address('Mint of the token.'),
  quoteMint: Address('Mint of the quote coin; wrapped SOL for SOL.'),
  pool: Venue,
  poolAddress: Address('The bonding curve or pool.'),
  signature: Nullable(Signature(), 'Signature of the transaction; null for a price read from an account change, and for a candle.'),
  slot: Type.Integer({ description: 'Slot.' }),
  blockTime: Nullable(Type.Integer(), 'Unix seconds by the chain clock, null where not known.'),
  commitment: Type.Enum([...commitments], { description: 'Commitment at which the event was seen.' }),
  ts: Type.Object(
    {
      received: Type.Integer({ description: 'When the notification reached ingest, Unix microseconds.' }),
      published: Type.Integer({ description: 'When ingest published the event, Unix microseconds.' }),
    },
    { additionalProperties: false },
  ),
  late: Type.Optional(
    Type.Literal(true, {
      description:
        'Present and true where it was not seen when it happened and was read from the history of the chain later: newer events of its topics may stand before it. Its values in SOL of another coin and in USD are by the price of the time when it was read.',
    }),
  ),
  simulated: Type.Optional(Type.Literal(true, { description: 'Present and true for events of the simulated chain.' })),
} as const;

export const Reserves = Type.Object(
  {
    virtualBase: Raw('Base reserve that the price follows from.'),
    virtualQuote: Raw('Quote reserve that the price follows from (virtual part included).'),
    realBase: Raw('Base tokens that can be bought.'),
    realQuote: Raw('Quote coins held.'),
  },
  { additionalProperties: false, description: 'Reserves after the event.' },
);

const ReservesOrNull = Nullable(Reserves, 'Null where the price of the venue does not follow from reserves (concentrated liquidity).');

const priceQuote = Ui('Quote coins for one token.');
const valuation = {
  priceQuote: Nullable(priceQuote, 'Null where neither the reserves nor the amounts make a price; then there is no price event either.'),
  priceSol: Nullable(Ui('SOL for one token.')),
  priceUsd: Nullable(Ui('USD for one token.')),
  marketCapSol: Nullable(Ui('Price times supply, in SOL.')),
  marketCapUsd: Nullable(Ui('Price times supply, in USD.')),
} as const;

function event<P extends TProperties>(type: string, description: string, properties: P): TObject<P> {
  return Type.Object(properties, { additionalProperties: false, title: type, description });
}

export const TradeEvent = event('trade', 'A swap that happened on chain.', {
  type: Type.Literal('trade'),
  ...common,
  side: Type.Enum(['buy', 'sell'], { description: "The taker's side." }),
  trader: Address('Wallet that traded.'),
  feePayer: Nullable(Address('Fee payer of the transaction.'), 'Null where the source does not show it (logs).'),
  baseAmount: Raw('Tokens through the pool, fees apart.'),
  baseDecimals: Type.Integer(),
  quoteAmount: Raw('Quote coins through the pool, fees apart.'),
  quoteDecimals: Type.Integer(),
  tokenAmount: Ui('baseAmount in whole tokens.'),
  solAmount: Nullable(Ui('quoteAmount in SOL.'), 'Null where the quote coin is not SOL.'),
  quoteUiAmount: Ui('quoteAmount in whole quote coins.'),
  ...valuation,
  fees: Fees,
  feeTotal: Raw('What the trader paid beside the amount through the pool: all fees in the quote coin, at the rate of the trade.'),
  reserves: ReservesOrNull,
  curveCompleted: Type.Optional(Type.Literal(true, { description: 'This trade completed the bonding curve.' })),
});

export const PriceEvent = event('price', 'A price tick, from a trade or from a change of the pool account.', {
  type: Type.Literal('price'),
  ...common,
  source: Type.Enum(['trade', 'account'], { description: 'What moved the price.' }),
  ...valuation,
  priceQuote,
  solUsd: Nullable(
    Type.Object(
      {
        price: Ui('USD for one SOL.'),
        slot: Type.Integer(),
        ageMs: Type.Integer({ description: 'Age of that price when the event was made, milliseconds.' }),
      },
      { additionalProperties: false },
    ),
    'The SOL/USD price behind the USD numbers; null where unknown.',
  ),
  reserves: ReservesOrNull,
});

const InitialBuy = Type.Object(
  {
    trader: Address('Buyer.'),
    baseAmount: Raw('Tokens bought.'),
    quoteAmount: Raw('Quote coins through the curve.'),
    tokenAmount: Ui('Tokens bought.'),
    solAmount: Nullable(Ui('SOL.')),
  },
  { additionalProperties: false },
);

/** What the creation of a token says of it. */
const creation = {
  name: Type.String({ description: 'As on chain.' }),
  symbol: Type.String({ description: 'As on chain.' }),
  uri: Type.String({ description: 'Where its metadata is.' }),
  creator: Address('Creator, who earns the creator fee.'),
} as const;
const initialBuy = Nullable(InitialBuy, 'What the creating wallet bought in the same transaction.');
const traits = {
  traits: Traits,
  creatorFeeBps: Type.Integer({ description: 'Creator fee that was set for this token; 0 if the venue decides.' }),
} as const;

export const NewTokenEvent = event('newToken', 'A token was created.', {
  type: Type.Literal('newToken'),
  ...common,
  ...creation,
  trader: Address('Wallet that sent the creation.'),
  tokenProgram: Address('SPL Token or Token-2022.'),
  bondingCurve: Address('Bonding curve account.'),
  supply: Raw('Total supply.'),
  decimals: Type.Integer(),
  initialBuy,
  ...valuation,
  reserves: Reserves,
  ...traits,
});

const Link = (what: string) => Nullable(Type.String(), `${what} (http, https or ipfs); null where the document has none that is one.`);

/** Of a document behind a token's `uri`, what is shown. Its author is anybody: texts without control characters, bounded. */
export const metadataFields = {
  description: Nullable(
    Type.String({ maxLength: 1000 }),
    'In the words of its author, without control characters; null where the document has none.',
  ),
  image: Link('Address of its image'),
  twitter: Link('Its page on X'),
  telegram: Link('Its page on Telegram'),
  website: Link('Its website'),
} as const;

export const TokenMetadataEvent = event(
  'tokenMetadata',
  'The document behind the `uri` of a new token is known. It carries of the creation what filters look at: a filter lets pass the metadata of just the tokens whose `newToken` it lets pass.',
  {
    type: Type.Literal('tokenMetadata'),
    ...common,
    ...creation,
    initialBuy,
    ...traits,
    ...metadataFields,
  },
);

export const MigrationEvent = event('migration', 'A completed curve moved to a pool; `pool` and `poolAddress` are the destination.', {
  type: Type.Literal('migration'),
  ...common,
  from: Type.Object({ pool: Venue, poolAddress: Address('The curve.') }, { additionalProperties: false }),
  baseAmount: Raw('Tokens moved to the pool.'),
  baseDecimals: Type.Integer(),
  quoteAmount: Raw('Quote coins moved to the pool.'),
  quoteDecimals: Type.Integer(),
  solAmount: Nullable(Ui('quoteAmount in SOL.')),
  migrationFee: Raw(
    'Quote coins taken as the fee of the migration; 0 where the quote coin is not SOL: then the migrator pays the fee in lamports.',
  ),
  ...valuation,
});

/** Prices and sums of one interval; the same in events and in answers. */
export const candleFields = {
  start: Type.Integer({ description: 'When it begins, Unix seconds by the block times of its trades; a multiple of the interval.' }),
  open: Ui('Quote coins for one token in the main pool after the first trade.'),
  high: Ui('Highest.'),
  low: Ui('Lowest.'),
  close: Ui('After the last trade.'),
  openUsd: Nullable(Ui('USD for one token.'), 'Null where no trade had a price in USD; so the three below.'),
  highUsd: Nullable(Ui('Highest.')),
  lowUsd: Nullable(Ui('Lowest.')),
  closeUsd: Nullable(Ui('After the last trade.')),
  volumeBase: Ui('Tokens traded, in all pools.'),
  volumeQuote: Ui('The same in quote coins of the main pool.'),
  volumeSol: Ui('The same in SOL, where its worth is known.'),
  volumeUsd: Ui('The same in USD, where its worth is known.'),
  buys: Type.Integer({ minimum: 0, description: 'Buys, in all pools.' }),
  sells: Type.Integer({ minimum: 0, description: 'Sells, in all pools.' }),
  trades: Type.Integer({ minimum: 1, description: 'Both.' }),
} as const;

export const CandleEvent = event(
  'candle',
  'Trades of one mint in one interval. Of the same `start`, the newer event replaces the older. The fields that all events have are those of the main pool and of the last trade known of the mint.',
  {
    type: Type.Literal('candle'),
    ...common,
    interval: Type.Enum([...candleIntervalNames], { description: 'Length of the interval.' }),
    ...candleFields,
    closed: Type.Boolean({
      description: 'The interval is over. Should a trade of it come late, or be taken back, the candle comes again, with `closed` true.',
    }),
  },
);

export const RetractEvent = Type.Object(
  { type: Type.Literal('retract'), id: EventId('Id of the event that a dead fork took back.') },
  { additionalProperties: false, title: 'retract', description: 'An earlier event was on a fork that died.' },
);

export const eventSchemas = {
  trade: TradeEvent,
  price: PriceEvent,
  newToken: NewTokenEvent,
  tokenMetadata: TokenMetadataEvent,
  migration: MigrationEvent,
  candle: CandleEvent,
  order: OrderEvent,
  retract: RetractEvent,
} as const;

export type TradeEvent = Static<typeof TradeEvent>;
export type PriceEvent = Static<typeof PriceEvent>;
export type NewTokenEvent = Static<typeof NewTokenEvent>;
export type TokenMetadataEvent = Static<typeof TokenMetadataEvent>;
export type MigrationEvent = Static<typeof MigrationEvent>;
export type CandleEvent = Static<typeof CandleEvent>;
export type RetractEvent = Static<typeof RetractEvent>;
/** What happened on the market. */
export type MarketStreamEvent = TradeEvent | PriceEvent | NewTokenEvent | TokenMetadataEvent | MigrationEvent | CandleEvent;
export type StreamEvent = MarketStreamEvent | OrderEvent | RetractEvent;
export type Reserves = Static<typeof Reserves>;
export type Fees = Static<typeof Fees>;
