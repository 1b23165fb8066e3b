import { isHeld, type LeaseTerm, type LogPosition } from '../bus/bus.ts';
import { standardMemory, type MemoryBounds } from '../config/memory-bounds.ts';
import { ownBytes } from '../codec/bytes.ts';
import { allIntervals, isVoided, type VoidedPrices } from './candles/fold-trades.ts';
import type { MintHead } from './pools/main-pool.ts';
import {
  bucketRetention,
  chunkRetentionS,
  hasId,
  isSameCheckpoint,
  olderTrades,
  priceRetentionS,
  tradesRetentionS,
} from './candles/retention.ts';
import { baseIntervals, marketLimits, summarySeconds, demandTtlMs } from './market.ts';
import type { BaseInterval, Bucket, BucketChange, MarketStore, MarketBatch, MarketSummary, MintChange, TopicTurns } from './market.ts';
import { emptyTally, mergeTally, removePrices, type Tally } from './candles/tally.ts';
import { inChainOrder, nothingUndecided, priceField, currentBuckets, currentPrice, tradeField } from './verdicts/undecided.ts';
import type { Undecided, UndecidedPrice, UndecidedTrade } from './verdicts/undecided.ts';

/** Time between two searches for expired entries. */
const sweepEveryMs = 10_000;

interface Chunk {
  readonly tallies: Map<number, Tally>;
  expiresAtMs: number;
}

interface Expiring<T> {
  value: T;
  expiresAtMs: number;
}

interface MintState {
  /** Null if nothing is settled yet. */
  head: MintHead | null;
  readonly chunks: Record<BaseInterval, Map<number, Chunk>>;
  price: Expiring<Uint8Array> | null;
  /** By field name. */
  readonly undecidedTrades: Map<string, UndecidedTrade>;
  readonly undecidedPrices: Map<string, UndecidedPrice>;
  /** Oldest first. */
  trades: Expiring<readonly Uint8Array[]> | null;
}

/** The state of the market in this process. It gives the guarantees of the state in Redis for as long as the process lives. */
export class InProcessMarket implements MarketStore {
  /** Mints by the time of their last event, oldest first. */
  readonly #mints = new Map<string, MintState>();
  readonly #bounds: MemoryBounds['market'];
  #buckets = 0;
  #checkpoint: LogPosition | null = null;
  readonly #demand = new Map<string, number>();
  readonly #published = new Map<string, number>();
  readonly #sweep: NodeJS.Timeout;

  /** If there are too many mints, the one with the oldest last event is dropped. */
  constructor(bounds: MemoryBounds['market'] = standardMemory.market) {
    this.#bounds = bounds;
    this.#sweep = setInterval(() => this.#dropExpired(performance.now()), sweepEveryMs);
    this.#sweep.unref();
  }

  // --- Reader.

  async buckets(
    mint: string,
    interval: BaseInterval,
    fromS: number,
    toS: number,
    limit: number,
    nowUs = Number.POSITIVE_INFINITY,
  ): Promise<readonly Bucket[]> {
    const state = this.#mints.get(mint);
    if (state === undefined || limit <= 0) return [];
    const nowMs = performance.now();
    const { chunkS } = bucketRetention[interval];
    const settled = new Map<number, Tally>();
    for (const [chunkStartS, { tallies, expiresAtMs }] of state.chunks[interval]) {
      if (expiresAtMs <= nowMs || chunkStartS >= toS || chunkStartS + chunkS <= fromS) continue;
      for (const [startS, tally] of tallies) settled.set(startS, tally);
    }
    return currentBuckets({ head: state.head, undecided: undecidedOf(state), settled }, { interval, fromS, toS, limit, nowUs });
  }

  async summary(mint: string, nowS: number): Promise<MarketSummary> {
    const fromS = nowS - summarySeconds;
    const startS = fromS - (fromS % baseIntervals['1m']);
    const minutes = await this.buckets(mint, '1m', startS, nowS + summarySeconds, summarySeconds, nowS * 1_000_000);
    const state = this.#mints.get(mint);
    const price = state === undefined ? null : currentPrice(state.head, valueOf(state.price), undecidedOf(state));
    return { checkpoint: this.#checkpoint, minutes, price };
  }

  async trades(mint: string, before: string | null, limit: number): Promise<readonly Uint8Array[]> {
    const stored = valueOf(this.#mints.get(mint)?.trades) ?? [];
    return olderTrades(stored.toReversed(), before, limit);
  }

  async reportDemand(topics: readonly string[]): Promise<readonly string[]> {
    const untilMs = performance.now() + demandTtlMs;
    const refused: string[] = [];
    for (const topic of topics) {
      if (this.#demand.has(topic) || this.#demand.size < marketLimits.candleTopics) this.#demand.set(topic, untilMs);
      else refused.push(topic);
    }
    return refused;
  }

  // --- Writer.

  async checkpoint(): Promise<LogPosition | null> {
    return this.#checkpoint;
  }

  async heads(mints: readonly string[]): Promise<ReadonlyMap<string, MintHead>> {
    const found = new Map<string, MintHead>();
    for (const mint of mints) {
      const head = this.#mints.get(mint)?.head ?? null;
      if (head !== null) found.set(mint, head);
    }
    return found;
  }

  async undecided(): Promise<ReadonlyMap<string, Undecided>> {
    return new Map([...this.#mints].map(([mint, state]) => [mint, undecidedOf(state)] as const).filter(([, of]) => !isNothing(of)));
  }

  async apply({ from, to, changes }: MarketBatch, leaseTerm: LeaseTerm): Promise<'applied' | 'fenced' | 'stale'> {
    if (!isHeld(leaseTerm)) return 'fenced';
    if (isSameCheckpoint(this.#checkpoint, to)) return 'applied';
    if (!isSameCheckpoint(this.#checkpoint, from)) return 'stale';
    const nowMs = performance.now();
    for (const change of changes) this.#change(change, nowMs);
    this.#checkpoint = to;
    for (const mint of this.#mints.keys()) {
      if (this.#mints.size <= this.#bounds.mints && this.#buckets <= this.#bounds.buckets) break;
      this.#drop(mint);
    }
    return 'applied';
  }

  async published(): Promise<ReadonlyMap<string, number>> {
    return new Map(this.#published);
  }

  async turns(): Promise<TopicTurns> {
    const nowMs = performance.now();
    const begin: string[] = [];
    for (const [topic, untilMs] of this.#demand) {
      if (untilMs > nowMs) {
        if (!this.#published.has(topic)) begin.push(topic);
      } else if (!this.#published.has(topic)) this.#demand.delete(topic);
    }
    const end = [...this.#published.keys()].filter((topic) => (this.#demand.get(topic) ?? 0) <= nowMs);
    return { begin, end };
  }

  async note(open: ReadonlyMap<string, number>, ended: readonly string[], leaseTerm: LeaseTerm): Promise<'applied' | 'fenced'> {
    if (!isHeld(leaseTerm)) return 'fenced';
    for (const [topic, startS] of open) this.#published.set(topic, startS);
    const nowMs = performance.now();
    for (const topic of ended) {
      this.#published.delete(topic);
      if ((this.#demand.get(topic) ?? 0) <= nowMs) this.#demand.delete(topic);
    }
    return 'applied';
  }

  async close(): Promise<void> {
    clearInterval(this.#sweep);
    this.#mints.clear();
    this.#demand.clear();
    this.#published.clear();
    this.#buckets = 0;
  }

  #change(change: MintChange, nowMs: number): void {
    const { mint, head, buckets, voided, price, undecided } = change;
    const state: MintState = this.#mints.get(mint) ?? {
      head: null,
      chunks: { '1s': new Map(), '1m': new Map(), '1h': new Map() },
      price: null,
      undecidedTrades: new Map(),
      undecidedPrices: new Map(),
      trades: null,
    };
    // Moves it to the end, so that it is dropped last.
    this.#mints.delete(mint);
    this.#mints.set(mint, state);
    if (head !== null) {
      state.head = head;
      if (voided !== null) removeStored(state.chunks, voided);
      for (const bucket of buckets) this.#addTo(state.chunks, head, bucket, nowMs);
    }
    for (const trade of undecided.trades) state.undecidedTrades.set(tradeField(trade), trade);
    // Copies here and below, because an event's bytes are a view of a much larger buffer.
    for (const one of undecided.prices) state.undecidedPrices.set(priceField(one), { ...one, json: ownBytes(one.json) });
    const settled = price === null ? undefined : state.undecidedPrices.get(price);
    if (settled !== undefined) state.price = { value: settled.json, expiresAtMs: nowMs + priceRetentionS * 1000 };
    for (const field of undecided.gone) if (!state.undecidedTrades.delete(field)) state.undecidedPrices.delete(field);
    keepTrades(state, change, nowMs);
  }

  #addTo(chunks: MintState['chunks'], head: MintHead, { interval, startS, tally }: BucketChange, nowMs: number): void {
    const { chunkS } = bucketRetention[interval];
    const chunkStartS = startS - (startS % chunkS);
    let chunk = chunks[interval].get(chunkStartS);
    if (chunk === undefined) chunks[interval].set(chunkStartS, (chunk = { tallies: new Map(), expiresAtMs: 0 }));
    let stored = chunk.tallies.get(startS);
    if (stored === undefined) {
      chunk.expiresAtMs = nowMs + chunkRetentionS(interval, head) * 1000;
      chunk.tallies.set(startS, (stored = emptyTally()));
      this.#buckets++;
    }
    mergeTally(stored, tally);
  }

  #drop(mint: string): void {
    const state = this.#mints.get(mint);
    if (state === undefined) return;
    for (const chunks of Object.values(state.chunks)) for (const { tallies } of chunks.values()) this.#buckets -= tallies.size;
    this.#mints.delete(mint);
  }

  #dropExpired(nowMs: number): void {
    for (const [mint, state] of this.#mints) {
      for (const chunks of Object.values(state.chunks)) {
        for (const [startS, { tallies, expiresAtMs }] of chunks) {
          if (expiresAtMs > nowMs) continue;
          this.#buckets -= tallies.size;
          chunks.delete(startS);
        }
      }
      state.price = valueOf(state.price, nowMs) === null ? null : state.price;
      state.trades = valueOf(state.trades, nowMs) === null ? null : state.trades;
      const isEmpty = Object.values(state.chunks).every(({ size }) => size === 0) && state.price === null;
      if (isEmpty && isNothing(undecidedOf(state))) this.#mints.delete(mint);
    }
  }
}

function removeStored(chunks: MintState['chunks'], voided: VoidedPrices): void {
  for (const interval of allIntervals) {
    for (const { tallies } of chunks[interval].values()) {
      for (const [startS, tally] of tallies) if (isVoided(voided, interval, startS)) removePrices(tally);
    }
  }
}

function keepTrades(state: MintState, { trades, retracted }: MintChange, nowMs: number): void {
  if (trades.length === 0 && retracted.length === 0) return;
  let stored = valueOf(state.trades, nowMs) ?? [];
  for (const id of retracted) stored = stored.filter((trade) => !hasId(trade, id));
  stored = [...stored, ...trades.map(ownBytes)].slice(-marketLimits.tradesPerMint);
  state.trades = { value: stored, expiresAtMs: nowMs + tradesRetentionS * 1000 };
}

function undecidedOf({ undecidedTrades, undecidedPrices }: MintState): Undecided {
  if (undecidedTrades.size === 0 && undecidedPrices.size === 0) return nothingUndecided;
  const prices = [...undecidedPrices.values()].sort((a, b) => a.slot - b.slot);
  return { trades: [...undecidedTrades.values()].sort(inChainOrder), prices };
}

function isNothing({ trades, prices }: Undecided): boolean {
  return trades.length === 0 && prices.length === 0;
}

function valueOf<T>(stored: Expiring<T> | null | undefined, nowMs = performance.now()): T | null {
  return stored === null || stored === undefined || stored.expiresAtMs <= nowMs ? null : stored.value;
}
