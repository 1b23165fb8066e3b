import type { LogEntry } from '@sluice/shared/bus/bus.ts';
import { idIn, mintIn, poolAddressIn, slotIn } from '@sluice/shared/codec/json-search.ts';
import { poolPriceOf } from '@sluice/shared/market/pools/depth.ts';
import type { MarketTrade } from '@sluice/shared/market/market-trade.ts';
import { parseJson } from '@sluice/shared/codec/bytes.ts';
import { readVerdict, type SlotVerdict } from '@sluice/shared/market/verdicts/slot-verdict.ts';
import { readPoolNews } from '@sluice/shared/market/pools/pool-news.ts';
import type { LiquidityEvent, MigrationEvent, RetractEvent, TradeEvent } from '@sluice/shared/wire/events/events.ts';
import { allPoolsTopic, allTradesTopic, migrationsTopic, poolsTopic, pricesTopic, tradesTopic } from '@sluice/shared/wire/stream/topics.ts';

/** A price tick. Most of it stays unread, because only the newest tick of a mint is used. */
interface PriceTick {
  readonly kind: 'price';
  readonly mint: string;
  readonly id: string;
  readonly slot: number;
  readonly poolAddress: string;
  readonly json: Uint8Array;
}

/** A trade, a migration or a change of liquidity, or the main pool of a mint as ingest read it from the chain (`pool`). */
export interface TradeRead {
  readonly kind: 'trade' | 'pool';
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
  readonly of: 'trade' | 'price' | 'migration' | 'liquidity';
  readonly json: Uint8Array;
}

interface SlotsRead {
  readonly kind: 'slots';
  readonly mint: null;
  readonly verdict: SlotVerdict;
  readonly json: Uint8Array;
}

/** What the market keeper uses of the log. */
export type MarketEvent = TradeRead | PriceTick | Retraction | SlotsRead;

const pricesPrefix = pricesTopic('');
const poolsPrefix = poolsTopic('');
const tradesPrefix = tradesTopic('');

/** The event of an entry; its topics give the type. Null if the market keeper does not use it. */
export function readEvent(entry: Pick<LogEntry, 'topics' | 'json'>): MarketEvent | null {
  const { topics, json } = entry;
  const topic = topics[0]?.topic ?? '';
  if (topic.startsWith(pricesPrefix)) return readPrice(json) ?? readParsed(entry);
  if (topic === allTradesTopic || topic === migrationsTopic || topic === allPoolsTopic) return readParsed(entry);
  const verdict = readVerdict(entry);
  return verdict === null ? readMainPool(entry) : { kind: 'slots', mint: null, verdict, json };
}

function readMainPool(entry: Pick<LogEntry, 'topics' | 'json'>): TradeRead | null {
  const news = readPoolNews(entry);
  if (news?.main === undefined) return null;
  const { mint, venue: pool, address: poolAddress, quoteMint, depthSol, slot, main } = news;
  const { atS, priceQuote, priceUsd, simulated, curveOver: completesCurve } = main;
  const read = { pool, poolAddress, quoteMint, depthSol, slot, atS, receivedUs: atS * 1_000_000, priceQuote, priceUsd, simulated };
  const noTrade = {
    id: '',
    index: null,
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

/** A price tick, of which only these fields are read. Null for other bytes. */
function readPrice(json: Uint8Array): PriceTick | null {
  const [id, mint, poolAddress, slot] = [idIn(json), mintIn(json), poolAddressIn(json), slotIn(json)];
  return id === null || mint === null || poolAddress === null || slot === null
    ? null
    : { kind: 'price', mint, id, slot, poolAddress, json };
}

/** A trade, a migration, a change of liquidity or a retraction. Null for other bytes: the bus carries any, not only those that ingest publishes. */
function readParsed({ topics, json }: Pick<LogEntry, 'topics' | 'json'>): MarketEvent | null {
  try {
    const event = parseJson(json) as TradeEvent | MigrationEvent | LiquidityEvent | RetractEvent;
    switch (event.type) {
      case 'retract':
        return { kind: 'retract', id: event.id, ...retractedFrom(topics), json };
      case 'trade':
      case 'migration':
      case 'liquidityAdded':
      case 'liquidityRemoved':
        return { kind: 'trade', mint: event.mint, trade: tradeOf(event), json };
      default:
        return null;
    }
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return null;
    throw error;
  }
}

function tradeOf(event: TradeEvent | MigrationEvent | LiquidityEvent): MarketTrade {
  const isTrade = event.type === 'trade';
  const { depthSol, sizeSol, atS } = poolPriceOf(event);
  // One literal: an object that is assembled from parts costs ten times as much.
  return {
    kind: event.type === 'trade' || event.type === 'migration' ? event.type : 'liquidity',
    id: event.id,
    quoteMint: event.quoteMint,
    pool: event.pool,
    poolAddress: event.poolAddress,
    slot: event.slot,
    index: isTrade ? (event.transactionIndex ?? null) : null,
    commitment: event.commitment,
    atS,
    receivedUs: event.ts.received,
    late: event.late === true,
    simulated: event.simulated === true,
    priceQuote: event.priceQuote,
    priceUsd: event.priceUsd,
    priceBefore: isTrade ? (event.priceQuoteBefore ?? null) : null,
    depthSol,
    sizeSol,
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
    case allPoolsTopic:
      return { mint: mintOf(poolsPrefix), of: 'liquidity' };
    default:
      return { mint: mintOf(pricesPrefix), of: 'price' };
  }
}
