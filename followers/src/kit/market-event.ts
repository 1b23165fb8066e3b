import type { LogEntry } from '@sluice/shared/bus/bus.ts';
import type { EventView } from '@sluice/shared/codec/event-view.ts';
import { poolPriceOf } from '@sluice/shared/market/pools/depth.ts';
import type { MarketTrade } from '@sluice/shared/market/market-trade.ts';
import { readVerdict, type SlotVerdict } from '@sluice/shared/market/verdicts/slot-verdict.ts';
import { readPoolNews } from '@sluice/shared/market/pools/pool-news.ts';
import type { LiquidityEvent, MigrationEvent, TradeEvent } from '@sluice/shared/wire/events/events.ts';
import { allPoolsTopic, allTradesTopic, migrationsTopic, poolsTopic, pricesTopic, tradesTopic } from '@sluice/shared/wire/stream/topics.ts';

/** A price tick. Most of it stays unread, because only the newest tick of a mint is used. */
interface PriceTick {
  readonly kind: 'price';
  readonly mint: string;
  readonly id: string;
  readonly slot: number;
  readonly poolAddress: string;
  readonly view: EventView;
}

/** A trade, a migration or a change of liquidity, or the main pool of a mint as ingest read it from the chain (`pool`). */
export interface TradeRead {
  readonly kind: 'trade' | 'pool';
  readonly mint: string;
  readonly trade: MarketTrade;
  readonly view: EventView;
}

/** An earlier event is retracted: its fork died. */
interface Retraction {
  readonly kind: 'retract';
  /** Null if the topics do not name it. */
  readonly mint: string | null;
  readonly id: string;
  readonly of: 'trade' | 'price' | 'migration' | 'liquidity';
  readonly view: EventView;
}

interface SlotsRead {
  readonly kind: 'slots';
  readonly mint: null;
  readonly verdict: SlotVerdict;
  readonly view: EventView;
}

/** What the market keeper uses of the log. */
export type MarketEvent = TradeRead | PriceTick | Retraction | SlotsRead;

const pricesPrefix = pricesTopic('');
const poolsPrefix = poolsTopic('');
const tradesPrefix = tradesTopic('');

/** The event of an entry; its topics give the type. Null if the market keeper does not use it. */
export function readEvent(entry: LogEntry): MarketEvent | null {
  const { topics } = entry;
  const topic = topics[0]?.topic ?? '';
  const isOfMarket = topic === allTradesTopic || topic === migrationsTopic || topic === allPoolsTopic || topic.startsWith(pricesPrefix);
  if (isOfMarket) return readOfMarket(entry);
  const verdict = readVerdict(entry);
  return verdict === null ? readMainPool(entry) : { kind: 'slots', mint: null, verdict, view: entry };
}

function readMainPool(entry: LogEntry): TradeRead | null {
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
  return { kind: 'pool', mint, trade: { kind: 'pool', ...noTrade, ...read, completesCurve }, view: entry };
}

/** A price tick, trade, migration, change of liquidity or retraction. Null for other bytes: the bus carries any, not only those that ingest publishes. */
function readOfMarket(view: LogEntry): MarketEvent | null {
  const event = view.eventOrNull;
  try {
    switch (event?.type) {
      case 'price':
        return { kind: 'price', mint: event.mint, id: event.id, slot: event.slot, poolAddress: event.poolAddress, view };
      case 'retract':
        return { kind: 'retract', id: event.id, ...retractedFrom(view.topics), view };
      case 'trade':
      case 'migration':
      case 'liquidityAdded':
      case 'liquidityRemoved':
        return { kind: 'trade', mint: event.mint, trade: tradeOf(event), view };
      default:
        return null;
    }
  } catch (error) {
    if (error instanceof TypeError) return null;
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
