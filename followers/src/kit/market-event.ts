import type { LogEntry } from '@sluice/shared/bus/bus.ts';
import { MsgpackFields } from '@sluice/shared/codec/msgpack-fields.ts';
import { poolPriceOf, rawDepth } from '@sluice/shared/market/pools/depth.ts';
import type { MarketTrade } from '@sluice/shared/market/market-trade.ts';
import { readVerdict, type SlotVerdict } from '@sluice/shared/market/verdicts/slot-verdict.ts';
import { quoteInSol, rawInSol } from '@sluice/shared/wire/values/money.ts';
import { readPoolNews } from '@sluice/shared/market/pools/pool-news.ts';
import type { MigrationEvent, PriceEvent, RetractEvent, TradeEvent } from '@sluice/shared/wire/events/events.ts';
import { allTradesTopic, migrationsTopic, pricesTopic, tradesTopic } from '@sluice/shared/wire/stream/topics.ts';

/** A price tick. Most of it stays unread, because only the newest tick of a mint is used. */
interface PriceTick {
  readonly kind: 'price';
  readonly mint: string;
  readonly id: string;
  readonly slot: number;
  readonly poolAddress: string;
  readonly json: Uint8Array;
}

interface TradeRead {
  readonly kind: 'trade';
  readonly mint: string;
  readonly trade: MarketTrade;
  readonly json: Uint8Array;
}

/** The main pool of a mint as ingest read it from the chain. */
interface PoolRead {
  readonly kind: 'pool';
  readonly mint: string;
  readonly trade: MarketTrade;
  readonly json: Uint8Array;
}

/** An earlier event is retracted: its fork died. */
interface Retraction {
  readonly kind: 'retract';
  /** Null if the topics do not name it. */
  readonly mint: string | null;
  readonly id: string;
  readonly of: 'trade' | 'price' | 'migration';
  readonly json: Uint8Array;
}

interface SlotsRead {
  readonly kind: 'slots';
  readonly mint: null;
  readonly verdict: SlotVerdict;
  readonly json: Uint8Array;
}

/** What the market keeper uses of the log. */
export type MarketEvent = TradeRead | PoolRead | PriceTick | Retraction | SlotsRead;

const pricesPrefix = pricesTopic('');
const tradesPrefix = tradesTopic('');
const maxSeconds = 0xffff_ffff;

/** The event of an entry; its topics give the type. Null if the market keeper does not use it. */
export function readEvent(entry: Pick<LogEntry, 'topics' | 'json' | 'msgpack'>): MarketEvent | null {
  const { topics, json, msgpack } = entry;
  const topic = topics[0]?.topic ?? '';
  if (topic === allTradesTopic) return readTrade(msgpack, json) ?? readParsed(entry);
  if (topic.startsWith(pricesPrefix)) return readPrice(msgpack, json) ?? readParsed(entry);
  if (topic === migrationsTopic) return readParsed(entry);
  const verdict = readVerdict(entry);
  return verdict === null ? readMainPool(entry) : { kind: 'slots', mint: null, verdict, json };
}

function readMainPool(entry: Pick<LogEntry, 'topics' | 'json'>): PoolRead | null {
  const news = readPoolNews(entry);
  if (news?.main === undefined) return null;
  const { mint, venue: pool, address: poolAddress, quoteMint, depthSol, slot, main } = news;
  const { atS, priceQuote, priceUsd, simulated, curveOver: completesCurve } = main;
  const read = { pool, poolAddress, quoteMint, depthSol, slot, atS, receivedUs: atS * 1_000_000, priceQuote, priceUsd, simulated };
  const noTrade = {
    id: '',
    sizeSol: null,
    priceBefore: null,
    commitment: 'confirmed',
    late: false,
    isBuy: false,
    base: 0,
    quote: 0,
  } as const;
  return { kind: 'pool', mint, trade: { kind: 'pool', ...noTrade, ...read, completesCurve }, json: entry.json };
}

// One event is read at a time.
const fields = new MsgpackFields();

/** A price tick from its MessagePack. Null if `encodeEvent` did not write these bytes. */
function readPrice(msgpack: Uint8Array, json: Uint8Array): PriceTick | null {
  fields.begin(msgpack);
  const id = fields.text('id');
  const mint = fields.text('mint');
  const poolAddress = fields.text('poolAddress');
  const slot = fields.number('slot');
  return fields.failed ? null : { kind: 'price', mint, id, slot, poolAddress, json };
}

/** A trade from its MessagePack. Null if `encodeEvent` did not write these bytes. */
function readTrade(msgpack: Uint8Array, json: Uint8Array): TradeRead | null {
  fields.begin(msgpack);
  const id = fields.text('id');
  const mint = fields.text('mint');
  const quoteMint = fields.text('quoteMint');
  const pool = fields.text('pool') as TradeEvent['pool'];
  const poolAddress = fields.text('poolAddress');
  const slot = fields.number('slot');
  const blockTime = fields.nullableNumber('blockTime');
  const commitment = fields.text('commitment') as TradeEvent['commitment'];
  fields.enter('ts');
  const receivedUs = fields.number('received');
  fields.skip('published');
  const late = fields.flag('late');
  const simulated = fields.flag('simulated');
  const isBuy = fields.text('side') === 'buy';
  const base = fields.number('tokenAmount');
  const quote = fields.number('quoteUiAmount');
  const priceQuote = fields.nullableNumber('priceQuote');
  const priceSol = fields.nullableNumber('priceSol');
  const priceUsd = fields.nullableNumber('priceUsd');
  const priceBefore = fields.nullableNumber('priceQuoteBefore');
  const hasReserves = fields.enterOrNull('reserves');
  const virtualQuote = hasReserves ? fields.text('virtualQuote') : null;
  const realQuote = hasReserves ? fields.text('realQuote') : null;
  const depth = fields.optionalText('depth');
  fields.skipOptional('traderBalance');
  const completesCurve = fields.flag('curveCompleted');
  if (fields.failed) return null;
  // One literal: an object that is assembled from parts costs ten times as much.
  const trade: MarketTrade = {
    kind: 'trade',
    id,
    quoteMint,
    pool,
    poolAddress,
    slot,
    commitment,
    atS: secondsOf(blockTime, receivedUs),
    receivedUs,
    late,
    simulated,
    priceQuote,
    priceUsd,
    priceBefore,
    depthSol: rawInSol(rawDepth(virtualQuote, realQuote, depth), quoteMint, priceQuote, priceSol),
    isBuy,
    base,
    quote,
    sizeSol: quoteInSol(quote, quoteMint, priceQuote, priceSol),
    completesCurve,
  };
  return { kind: 'trade', mint, trade, json };
}

/** A trade, a migration, a price tick or a retraction from its JSON, in any order of fields. Null for other bytes. */
function readParsed({ topics, json }: Pick<LogEntry, 'topics' | 'json'>): MarketEvent | null {
  const event = parse(json);
  if (event === null) return null;
  const { type } = event;
  if (type === 'price') {
    const { mint, id, slot, poolAddress } = event;
    return { kind: 'price', mint, id, slot, poolAddress, json };
  }
  if (type === 'retract') return { kind: 'retract', id: event.id, ...retractedFrom(topics), json };
  return { kind: 'trade', mint: event.mint, trade: tradeOf(event), json };
}

function tradeOf(event: TradeEvent | MigrationEvent): MarketTrade {
  const isTrade = event.type === 'trade';
  return {
    ...poolPriceOf(event),
    kind: event.type,
    id: event.id,
    slot: event.slot,
    commitment: event.commitment,
    atS: secondsOf(event.blockTime, event.ts.received),
    receivedUs: event.ts.received,
    late: event.late === true,
    simulated: event.simulated === true,
    priceBefore: isTrade ? (event.priceQuoteBefore ?? null) : null,
    isBuy: isTrade && event.side === 'buy',
    base: isTrade ? event.tokenAmount : 0,
    quote: isTrade ? event.quoteUiAmount : 0,
    completesCurve: isTrade && event.curveCompleted === true,
  };
}

/** Which event is retracted: the entry has the topics of that event. */
function retractedFrom(topics: LogEntry['topics']): Pick<Retraction, 'mint' | 'of'> {
  const mintOf = (prefix: string): string | null =>
    topics.find(({ topic }) => topic.startsWith(prefix) && topic[prefix.length] !== '@')?.topic.slice(prefix.length) ?? null;
  switch (topics[0]?.topic) {
    case allTradesTopic:
      return { mint: mintOf(tradesPrefix), of: 'trade' };
    case migrationsTopic:
      return { mint: null, of: 'migration' };
    default:
      return { mint: mintOf(pricesPrefix), of: 'price' };
  }
}

type Parsed = TradeEvent | MigrationEvent | PriceEvent | RetractEvent;
const parsedTypes: ReadonlySet<unknown> = new Set(['trade', 'migration', 'price', 'retract'] satisfies Parsed['type'][]);

function parse(json: Uint8Array): Parsed | null {
  try {
    const value = JSON.parse(Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString('utf8')) as { readonly type?: unknown };
    return parsedTypes.has(value.type) ? (value as Parsed) : null;
  } catch (error) {
    // The bus carries any bytes, not only those that ingest publishes.
    if (error instanceof SyntaxError || error instanceof TypeError) return null;
    throw error;
  }
}

function secondsOf(blockTime: number | null, receivedUs: number): number {
  const isTime = blockTime !== null && blockTime >= 0 && blockTime <= maxSeconds;
  return isTime ? Math.floor(blockTime) : Math.floor(receivedUs / 1_000_000);
}
