import { Type, type Static, type TObject, type TProperties } from 'typebox';
import { commitments, Fees, Traits, Venue } from '../values/event-parts.ts';
import { quoteCoins } from '../values/money.ts';
import { candleIntervalNames } from '../values/intervals.ts';
import { OrderEvent } from '../orders/orders.ts';
import { TriggerEvent } from '../orders/triggers.ts';
import { PositionEvent } from '../orders/positions.ts';
import { ProgramAccount, ProgramEvent, ProgramInstruction, type ProgramRecord } from './program-events.ts';
import {
  Address,
  BlockTime,
  Bps,
  Closed,
  Count,
  Decimals,
  EventId,
  FreeText,
  Group,
  Message,
  Nullable,
  PublishedLink,
  Raw,
  Signature,
  Slot,
  Ui,
  UnixSeconds,
  UnixUs,
} from '../values/values.ts';

export { commitments, type Commitment } from '../values/event-parts.ts';
export { venueNames, type VenueName } from '../venues.ts';

/** Fields of every event. */
const common = {
  id: EventId(
    '`<signature>:<instruction path>`: unique, and the same from every source. The path is the index of the top-level instruction, then `.` and the index of the inner instruction that emitted it, if there is one; further events of the same instruction add `+1`, `+2` …; a price derived from a trade adds `.price`, the metadata of a new token `.metadata`. The id of a candle begins with `<mint>:<interval>:<start>:`; each version has another end.',
  ),
  mint: Address('Mint of the token.'),
  quoteMint: Address('Mint of the quote coin; wrapped SOL for SOL.'),
  pool: Venue,
  poolAddress: Address('The bonding curve or pool.'),
  signature: Nullable(Signature(), 'Signature of the transaction; null for a price read from an account change, and for a candle.'),
  slot: Slot('Slot.'),
  blockTime: BlockTime(),
  commitment: Type.Enum([...commitments], { description: 'Commitment at which the event was seen.' }),
  ts: Closed({
    received: UnixUs('When the notification reached ingest, Unix microseconds.'),
    published: UnixUs('When ingest published the event, Unix microseconds.'),
  }),
  late: Type.Optional(
    Type.Literal(true, {
      description:
        'Present and true if the event was missed and read from the history of the chain later. Newer events of its topics may come before it. Its market caps and its conversions to SOL and USD use the prices at the time of reading.',
    }),
  ),
  simulated: Type.Optional(Type.Literal(true, { description: 'Present and true for events of the simulated chain.' })),
} as const;

export const Reserves = Group('Reserves after the event.', {
  virtualBase: Raw('Base reserve that determines the price.'),
  virtualQuote: Raw('Quote reserve that determines the price, with its virtual part.'),
  realBase: Raw('Base tokens that can be bought.'),
  realQuote: Raw('Quote coins held.'),
});

const ReservesOrNull = Nullable(Reserves, 'Null if reserves do not determine the price of the venue (concentrated liquidity).');

const depth = Type.Optional(
  Raw(
    'Depth of the pool: quote coins that sellers receive, without fees, until the price has fallen by 1 %. It is an estimate: it assumes that the liquidity stays the same on the way. Present only if `reserves` is null and the venue shows it. Reserves determine the depth: `virtualQuote` × (1 − √0.99), and at most `realQuote`.',
  ),
);

const priceQuote = Ui('Quote coins for one token in this pool, after the event.');
const cap = (coin: string) =>
  Nullable(
    Ui(`Market cap in ${coin}: the price of the token's main pool that counts in this slot, times the supply.`),
    'Null if the price or the supply is unknown, or if the mint states no supply, as that of wrapped SOL.',
  );
const valuation = {
  priceQuote: Nullable(priceQuote, 'Null if the pool has no price after the event, because it is empty. There is no price event then.'),
  priceSol: Nullable(Ui('SOL for one token in this pool.')),
  priceUsd: Nullable(Ui('USD for one token in this pool.')),
  marketCapSol: cap('SOL'),
  marketCapUsd: cap('USD'),
} as const;

const mainPool = Nullable(
  Address("The token's main pool after the event, whose price gives the market caps."),
  'Null if the main pool is not known.',
);

const Rate = (price: string) =>
  Closed({ price: Ui(price), slot: Slot(), ageMs: Count('Age of that price when the event or the answer was made, milliseconds.') });
/** The value of a quote coin as pools show it. */
export const QuoteRate = Nullable(
  Rate('SOL for one JitoSOL; USD (USDC) for one USDT or USD1.'),
  'Value of the quote coin. Present if the coin is USDT, USD1 or JitoSOL, and pools of this coin were seen. Null if the prices of these pools are older than a minute or contradict each other: values in SOL and USD are then null.',
);

function event<P extends TProperties>(type: string, description: string, properties: P): TObject<P> {
  return Message(type, description, properties);
}

export const TradeEvent = event('trade', 'A swap that happened on chain.', {
  type: Type.Literal('trade'),
  ...common,
  side: Type.Enum(['buy', 'sell'], { description: "The taker's side." }),
  trader: Address('Wallet that traded.'),
  feePayer: Nullable(Address('Fee payer of the transaction.'), 'Null if the source does not show it (logs).'),
  baseAmount: Raw('Tokens through the pool, without fees.'),
  baseDecimals: Decimals(),
  quoteAmount: Raw('Quote coins through the pool, without fees.'),
  quoteDecimals: Decimals(),
  tokenAmount: Ui('baseAmount in whole tokens.'),
  solAmount: Nullable(Ui('quoteAmount in SOL.'), 'Null if the quote coin is not SOL.'),
  quoteUiAmount: Ui('quoteAmount in whole quote coins.'),
  ...valuation,
  mainPool,
  priceQuoteBefore: Nullable(
    Ui('Quote coins for one token in this pool before the trade, without fees.'),
    'Null if the event on the chain does not show it.',
  ),
  fees: Fees,
  feeTotal: Raw('What the trader paid in addition to the amount through the pool: all fees in the quote coin, at the rate of the trade.'),
  reserves: ReservesOrNull,
  depth,
  traderBalance: Type.Optional(
    Raw(
      'What the trader holds of the token after the transaction, in the token accounts that the transaction names. Present only if the source shows it (whole transactions); logs do not.',
    ),
  ),
  transactionIndex: Type.Optional(
    Count(
      'Place of the transaction in its block. Present only if the source shows it: whole blocks do, gRPC shows places above 0, logs show none.',
    ),
  ),
  curveCompleted: Type.Optional(Type.Literal(true, { description: 'This trade completed the bonding curve.' })),
});

export const PriceEvent = event('price', 'A price tick, from a trade or from a change of the pool account.', {
  type: Type.Literal('price'),
  ...common,
  source: Type.Enum(['trade', 'account'], { description: 'What changed the price.' }),
  ...valuation,
  priceQuote,
  mainPool,
  solUsd: Nullable(Rate('USD for one SOL.'), 'The SOL/USD price that the USD values use; null if it is unknown.'),
  quoteRate: Type.Optional(QuoteRate),
  reserves: ReservesOrNull,
  depth,
});

const InitialBuy = Closed({
  trader: Address('Buyer.'),
  baseAmount: Raw('Tokens bought.'),
  quoteAmount: Raw('Quote coins through the curve.'),
  tokenAmount: Ui('Tokens bought.'),
  solAmount: Nullable(Ui('SOL.')),
});

/** What a creation says about its token. */
const creation = {
  name: FreeText('As on chain.'),
  symbol: FreeText('As on chain.'),
  uri: FreeText('Address of its metadata.'),
  creator: Address('Creator, who receives the creator fee.'),
} as const;
const initialBuy = Nullable(InitialBuy, 'What the creating wallet bought in the same transaction.');
const traits = { traits: Traits, creatorFeeBps: Bps('Creator fee that was set for this token; 0 if the venue decides.') } as const;

export const NewTokenEvent = event('newToken', 'A token was created.', {
  type: Type.Literal('newToken'),
  ...common,
  quoteSymbol: Nullable(
    Type.Enum([...quoteCoins.values()].map(({ symbol }) => symbol)),
    'Symbol of the quote coin, which the filter `quoteMint` takes as well; null if the coin is another one.',
  ),
  ...creation,
  trader: Address('Wallet that sent the creation.'),
  tokenProgram: Address('SPL Token or Token-2022.'),
  bondingCurve: Address('Bonding curve account.'),
  platform: Nullable(Address('Config account of the launch platform.'), 'Null if the venue has no platforms.'),
  supply: Raw('Total supply.'),
  decimals: Decimals(),
  initialBuy,
  ...valuation,
  reserves: Reserves,
  ...traits,
});

const Link = (what: string) =>
  Nullable(PublishedLink(undefined, { maxLength: 512 }), `${what} (http, https or ipfs); null if the document has no valid one.`);

/** The published part of the document at a token's `uri`. Anyone can write it, so strings are bounded and without control characters. */
export const metadataFields = {
  description: Nullable(
    Type.String({ maxLength: 1000 }),
    'Text of the creator, without control characters; null if the document has none.',
  ),
  image: Link('Address of its image'),
  twitter: Link('Its page on X'),
  telegram: Link('Its page on Telegram'),
  website: Link('Its website'),
} as const;

export const TokenMetadataEvent = event(
  'tokenMetadata',
  'The document at the `uri` of a new token was read. The event repeats the fields of the creation that filters use, so a filter passes the metadata of exactly the tokens whose `newToken` it passes.',
  { type: Type.Literal('tokenMetadata'), ...common, ...creation, initialBuy, ...traits, ...metadataFields },
);

export const MigrationEvent = event('migration', 'A completed curve moved to a pool; `pool` and `poolAddress` are the destination.', {
  type: Type.Literal('migration'),
  ...common,
  from: Closed({ pool: Venue, poolAddress: Address('The curve.') }),
  baseAmount: Raw('Tokens moved to the pool.'),
  baseDecimals: Decimals(),
  quoteAmount: Raw('Quote coins moved to the pool.'),
  quoteDecimals: Decimals(),
  solAmount: Nullable(Ui('quoteAmount in SOL.')),
  migrationFee: Raw(
    'Quote coins that the migration charged the curve. 0 if the venue does not show it, or if the quote coin is not SOL: the migrator then pays the fee in lamports.',
  ),
  ...valuation,
});

const poolPair = { baseDecimals: Decimals(), quoteDecimals: Decimals() } as const;
const value = (coin: string) => Nullable(Ui(`Value of both amounts in ${coin}, at the price in this event.`), 'Null if it is unknown.');
const LpTokens = (what: string, unknown: string) => Nullable(Raw(what), unknown);
const lockedLp = {
  lpBurned: LpTokens(
    'LP tokens that the transaction burned. Of `liquidityRemoved`: equal to `lpAmount`. Otherwise: nobody can take out this part of the liquidity again.',
    'Null if the source does not show it (logs), if no LP tokens were made, or if the transaction filled several pools. Of `liquidityRemoved`: null if `lpAmount` is.',
  ),
  lpLocked: LpTokens(
    "Units of liquidity that the transaction locked, for a time or for good: in the program of the venue, or in a program of the venue's maker for LP tokens.",
    'Null if it locked none.',
  ),
} as const;

export const PoolCreatedEvent = event(
  'poolCreated',
  'A pool was opened. A bonding curve begins with `newToken` instead. If the amounts are null, the pool is empty, or its first `liquidityAdded` has them.',
  {
    type: Type.Literal('poolCreated'),
    ...common,
    creator: Address('Account that opened the pool: the user of the instruction.'),
    baseAmount: Nullable(Raw('Tokens in the new pool.'), 'Null if the creation does not show it.'),
    quoteAmount: Nullable(Raw('Quote coins in the new pool.'), 'Null if the creation does not show it.'),
    ...poolPair,
    tokenAmount: Nullable(Ui('baseAmount in whole tokens.')),
    solAmount: Nullable(Ui('quoteAmount in SOL.'), 'Null if the quote coin is not SOL.'),
    quoteUiAmount: Nullable(Ui('quoteAmount in whole quote coins.')),
    valueSol: value('SOL'),
    valueUsd: value('USD'),
    ...lockedLp,
    ...valuation,
    mainPool,
    reserves: ReservesOrNull,
  },
);

const left = (what: string) => Nullable(Raw(`${what} that the pool has afterwards.`), 'Null if the transaction does not show it.');
const liquidity = {
  ...common,
  provider: Address('Account that owns or owned the liquidity: the user of the instruction.'),
  baseAmount: Raw('Tokens that moved. Collected fees do not count.'),
  quoteAmount: Raw('Quote coins that moved. Collected fees do not count.'),
  ...poolPair,
  tokenAmount: Ui('baseAmount in whole tokens.'),
  solAmount: Nullable(Ui('quoteAmount in SOL.'), 'Null if the quote coin is not SOL.'),
  quoteUiAmount: Ui('quoteAmount in whole quote coins.'),
  valueSol: value('SOL'),
  valueUsd: value('USD'),
  baseLeft: left('Tokens'),
  quoteLeft: left('Quote coins'),
  leftSol: Nullable(Ui('Value in SOL of what the pool has afterwards.'), 'Null if it is unknown.'),
  leftUsd: Nullable(Ui('Value in USD of what the pool has afterwards.'), 'Null if it is unknown.'),
  lpAmount: LpTokens(
    'LP tokens that were made or given back, or units of liquidity if all positions of the pool have the same range.',
    'Null if positions have ranges of their own.',
  ),
  ...lockedLp,
  ...valuation,
  priceQuote: Nullable(priceQuote, 'Null if it is unknown. A drained pool has its last price; a `price` event with depth 0 follows.'),
  mainPool,
  reserves: ReservesOrNull,
  depth,
} as const;

export const LiquidityAddedEvent = event('liquidityAdded', 'Somebody put liquidity into a pool.', {
  type: Type.Literal('liquidityAdded'),
  ...liquidity,
});
export const LiquidityRemovedEvent = event(
  'liquidityRemoved',
  'Somebody took liquidity out of a pool. If nothing is left, the price is the last one of the pool, and nobody can sell there any more.',
  { type: Type.Literal('liquidityRemoved'), ...liquidity },
);

/** Prices and sums of one interval. Events and answers use the same fields. */
export const candleFields = {
  start: UnixSeconds('Begin of the interval, Unix seconds of block time; a multiple of the interval.'),
  open: Ui('Quote coins for one token in the main pool before the first slot, without fees. Only prices of slots count.'),
  high: Ui('Highest, `open` included.'),
  low: Ui('Lowest, `open` included.'),
  close: Ui('Price of the last slot, without fees.'),
  openUsd: Nullable(Ui('USD for one token.'), 'Null if no trade had a price in USD. This also holds for the next three fields.'),
  highUsd: Nullable(Ui('Highest.')),
  lowUsd: Nullable(Ui('Lowest.')),
  closeUsd: Nullable(Ui('Price of the last slot.')),
  volumeBase: Ui('Tokens traded, in all pools.'),
  volumeQuote: Ui('Volume in quote coins of the main pool.'),
  volumeSol: Ui('Volume in SOL, as far as the value is known.'),
  volumeUsd: Ui('Volume in USD, as far as the value is known.'),
  buys: Count('Buys, in all pools.'),
  sells: Count('Sells, in all pools.'),
  trades: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: 'Both.' }),
} as const;

export const CandleEvent = event(
  'candle',
  'Trades of one mint in one interval. A newer event with the same `start` replaces the older one. The common fields describe the main pool and the last known trade of the mint.',
  {
    type: Type.Literal('candle'),
    ...common,
    interval: Type.Enum([...candleIntervalNames], { description: 'Length of the interval.' }),
    ...candleFields,
    closed: Type.Boolean({
      description: 'The interval is over. If one of its trades comes late or is retracted, the candle is sent again, with `closed` true.',
    }),
  },
);

export const RetractEvent = Message(
  'retract',
  'An earlier event is void, because its fork died. A candle is void if none of its trades is left, or none that shows a price.',
  { type: Type.Literal('retract'), id: EventId('Id of the retracted event.') },
);

export const eventSchemas = {
  trade: TradeEvent,
  price: PriceEvent,
  newToken: NewTokenEvent,
  tokenMetadata: TokenMetadataEvent,
  migration: MigrationEvent,
  poolCreated: PoolCreatedEvent,
  liquidityAdded: LiquidityAddedEvent,
  liquidityRemoved: LiquidityRemovedEvent,
  candle: CandleEvent,
  programEvent: ProgramEvent,
  programInstruction: ProgramInstruction,
  programAccount: ProgramAccount,
  order: OrderEvent,
  trigger: TriggerEvent,
  position: PositionEvent,
  retract: RetractEvent,
} as const;

export type TradeEvent = Static<typeof TradeEvent>;
export type PriceEvent = Static<typeof PriceEvent>;
export type NewTokenEvent = Static<typeof NewTokenEvent>;
export type TokenMetadataEvent = Static<typeof TokenMetadataEvent>;
export type MigrationEvent = Static<typeof MigrationEvent>;
export type PoolCreatedEvent = Static<typeof PoolCreatedEvent>;
export type LiquidityEvent = Static<typeof LiquidityAddedEvent> | Static<typeof LiquidityRemovedEvent>;
export type PoolEvent = PoolCreatedEvent | LiquidityEvent;
export type CandleEvent = Static<typeof CandleEvent>;
export type RetractEvent = Static<typeof RetractEvent>;
/** Events of the market. */
export type MarketStreamEvent = TradeEvent | PriceEvent | NewTokenEvent | TokenMetadataEvent | MigrationEvent | PoolEvent | CandleEvent;
export type StreamEvent = MarketStreamEvent | ProgramRecord | OrderEvent | TriggerEvent | PositionEvent | RetractEvent;
export type Reserves = Static<typeof Reserves>;
