import type { BusSubscriber } from '@sluice/shared/bus/bus.ts';
import type { PriceEvent, StreamEvent } from '@sluice/shared/wire/events.ts';
import type { MarketSummary } from '@sluice/shared/market/market.ts';
import type { History } from '../stream/history/history.ts';
import type { TokenFacts } from './token-facts.ts';
import { Minutes } from './minutes.ts';
import { tallyOf, TokenMarket } from './token-market.ts';
import { surviving } from './surviving.ts';
import type { TokenPlan } from './token-plan.ts';

/** Entries that are applied at once when a token becomes warm; a record that is further behind is asked for again later. */
const maxReplayed = 5_000;
/** Prices that are looked at where the record cannot be joined: of several pools, say. */
const newestPrices = 16;

/** Where the log stands, as far as this gateway has it without a hole. */
export interface LogStand {
  readonly placeOf: BusSubscriber['placeOf'];
  /** Oldest offset from which on nothing is missing. */
  readonly wholeFrom: number;
}

/** A token kept in memory: what the chain said of it, and what the log has told since. */
export class WarmToken {
  readonly plan: TokenPlan;
  facts: TokenFacts;
  readonly market: TokenMarket;
  /** Null while the record of trades and the log cannot be joined. */
  minutes: Minutes | null = null;
  /** The event that it migrated by; null where none was told since it is warm. */
  migrationId: string | null = null;
  /** Entries up to here are in `minutes`. */
  #countedTo = 0;
  /** Kept as rendered for a moment. */
  rendered: Buffer | null = null;
  renderedAtMs = Number.NEGATIVE_INFINITY;
  touchedAtMs = Number.NEGATIVE_INFINITY;
  /** When the chain, and the record of trades, were last asked for again. */
  refreshedAtMs: number;
  joinedAtMs = Number.NEGATIVE_INFINITY;

  constructor(plan: TokenPlan, facts: TokenFacts, kept: PriceEvent | null, nowMs: number) {
    this.plan = plan;
    this.facts = facts;
    this.market = new TokenMarket(facts, kept);
    this.refreshedAtMs = nowMs;
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

  /** An event of this token; `offset` is its entry's. */
  apply(event: StreamEvent, offset: number, nowMs: number): void {
    if (event.type === 'price') this.market.onPrice(event);
    else if (event.type === 'migration') {
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
   * Joins the record of trades with the log: what the record stands at is in its minutes, what came after it is applied from
   * the history. False where nothing is known of the stretch between them, or something of the record was taken back in it. Nothing
   * of the log may come in between.
   */
  join({ checkpoint, minutes }: MarketSummary, history: History, { placeOf, wholeFrom }: LogStand, nowMs: number): boolean {
    this.minutes = null;
    if (checkpoint === null || placeOf(checkpoint.epoch) === null || checkpoint.offset + 1 < wholeFrom) {
      this.#takeNewestPrices(history, nowMs);
      return false;
    }
    const trades = eventsBehind(history, `trades:${this.mint}`, checkpoint.offset);
    const prices = eventsBehind(history, `prices:${this.mint}`, checkpoint.offset);
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

  /** What came while the token was read is in the history alone. */
  #takeNewestPrices(history: History, nowMs: number): void {
    const newest: { readonly offset: number; readonly event: StreamEvent }[] = [];
    for (const { offset, json } of surviving(history, `prices:${this.mint}`, new Set())) {
      newest.push({ offset, event: parseEvent(json) });
      if (newest.length === newestPrices) break;
    }
    for (const { offset, event } of newest.toReversed()) this.apply(event, offset, nowMs);
  }
}

/** Retained events of a topic behind an offset, oldest first; null where they are too many, or take back what came before. */
function eventsBehind(history: History, topic: string, behind: number): { readonly offset: number; readonly event: StreamEvent }[] | null {
  const found: { readonly offset: number; readonly event: StreamEvent }[] = [];
  const takenBack = new Set<string>();
  for (const { offset, json } of surviving(history, topic, takenBack, behind)) {
    if (found.length >= maxReplayed) return null;
    found.push({ offset, event: parseEvent(json) });
  }
  return takenBack.size > 0 ? null : found.toReversed();
}

export function parseEvent(json: Uint8Array): StreamEvent {
  return JSON.parse(Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString('utf8')) as StreamEvent;
}
