import type { BusSubscriber } from '@sluice/shared/bus/bus.ts';
import type { PriceEvent, StreamEvent } from '@sluice/shared/wire/events.ts';
import type { MarketSummary } from '@sluice/shared/market/market.ts';
import type { History } from '../../stream/history/history.ts';
import type { TokenFacts } from './token-facts.ts';
import { Minutes } from '../pages/minutes.ts';
import { tallyOf, TokenMarket } from './token-market.ts';
import { surviving } from '../surviving.ts';
import type { TokenPlan } from './token-plan.ts';
import { TokenPools } from './token-pools.ts';

/** Maximum number of entries applied at once when a token becomes warm. If the stored trades are further behind, they are read again later. */
const maxReplayed = 5_000;
/** Maximum number of price events searched if the stored trades cannot be joined. Several pools can have price events. */
const newestPrices = 16;

/** The part of the log that this gateway has without a gap. */
export interface LogCoverage {
  readonly placeOf: BusSubscriber['placeOf'];
  /** The oldest offset from which nothing is missing. */
  readonly wholeFrom: number;
}

/** A token held in memory: its facts from the chain, updated by events of the log. */
export class WarmToken {
  readonly plan: TokenPlan;
  facts: TokenFacts;
  readonly market: TokenMarket;
  readonly pools = new TokenPools();
  /** Null: the stored trades and the log could not be joined yet. */
  minutes: Minutes | null = null;
  /** Its migration event. Null: none since the token became warm. */
  migrationId: string | null = null;
  /** `minutes` contains the entries up to this offset. */
  #countedTo = 0;
  /** The rendered answer, which is used for a short time. */
  rendered: Buffer | null = null;
  renderedAtMs = Number.NEGATIVE_INFINITY;
  touchedAtMs = Number.NEGATIVE_INFINITY;
  /** When the chain, and the stored trades, were last read. By the steady clock, as the times above. */
  refreshedAtMs: number;
  joinedAtMs = Number.NEGATIVE_INFINITY;

  constructor(plan: TokenPlan, facts: TokenFacts, stored: PriceEvent | null, steadyMs: number) {
    this.plan = plan;
    this.facts = facts;
    this.market = new TokenMarket(facts, stored);
    this.refreshedAtMs = steadyMs;
  }

  get mint(): string {
    return this.plan.mint;
  }

  /** The chain was read again. */
  refresh(facts: TokenFacts): void {
    if (facts.slot < this.facts.slot) return;
    this.facts = facts;
    this.market.refresh(facts);
    this.rendered = null;
  }

  /** Applies an event of this token; `offset` is that of its entry. */
  apply(event: StreamEvent, offset: number, nowMs: number): void {
    if (event.type === 'price') {
      this.market.onPrice(event);
      this.pools.onPrice(event);
    } else if (event.type === 'migration') {
      this.migrationId = event.id;
      this.market.onMigration(event);
    } else if (event.type === 'trade') {
      this.market.onTrade(event);
      if (this.minutes === null || offset <= this.#countedTo) return;
      const { atS, sums } = tallyOf(event);
      this.minutes.add(atS, sums, Math.floor(nowMs / 1000));
    }
  }

  /**
   * Joins the stored trades with the log. The stored minutes contain the trades up to the checkpoint; later ones are applied from the
   * history. False: the history lacks entries after the checkpoint, or a stored trade was retracted there. Call it without an `await`
   * after reading the log's position, so that no entry arrives in between.
   */
  join({ checkpoint, minutes }: MarketSummary, history: History, { placeOf, wholeFrom }: LogCoverage, nowMs: number): boolean {
    this.minutes = null;
    if (checkpoint === null || placeOf(checkpoint.epoch) === null || checkpoint.offset + 1 < wholeFrom) {
      this.#takeNewestPrices(history, nowMs);
      return false;
    }
    const trades = eventsAfter(history, `trades:${this.mint}`, checkpoint.offset);
    const prices = eventsAfter(history, `prices:${this.mint}`, checkpoint.offset);
    if (trades === null || prices === null) {
      this.#takeNewestPrices(history, nowMs);
      return false;
    }
    this.minutes = new Minutes(minutes);
    this.#countedTo = checkpoint.offset;
    for (const { offset, event } of trades) this.apply(event, offset, nowMs);
    for (const { offset, event } of prices) this.apply(event, offset, nowMs);
    return true;
  }

  /** Applies the entries that arrived while the token was read; only the history has them. */
  #takeNewestPrices(history: History, nowMs: number): void {
    const newest: { readonly offset: number; readonly event: StreamEvent }[] = [];
    for (const { offset, json } of surviving(history, `prices:${this.mint}`, new Set())) {
      newest.push({ offset, event: parseEvent(json) });
      if (newest.length === newestPrices) break;
    }
    for (const { offset, event } of newest.toReversed()) this.apply(event, offset, nowMs);
  }
}

/** Retained events of a topic after an offset, oldest first. Null: they are too many, or one of them retracts an older event. */
function eventsAfter(history: History, topic: string, after: number): { readonly offset: number; readonly event: StreamEvent }[] | null {
  const found: { readonly offset: number; readonly event: StreamEvent }[] = [];
  const retracted = new Set<string>();
  for (const { offset, json } of surviving(history, topic, retracted, after)) {
    if (found.length >= maxReplayed) return null;
    found.push({ offset, event: parseEvent(json) });
  }
  return retracted.size > 0 ? null : found.toReversed();
}

export function parseEvent(json: Uint8Array): StreamEvent {
  return JSON.parse(Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString('utf8')) as StreamEvent;
}
