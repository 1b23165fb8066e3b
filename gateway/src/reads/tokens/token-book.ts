import type { BusSubscriber, LogEntry } from '@sluice/shared/bus/bus.ts';
import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { ConfirmedSlots } from '@sluice/shared/market/verdicts/confirmed-slots.ts';
import type { MarketReader, MarketSummary } from '@sluice/shared/market/market.ts';
import { isAddress } from '@sluice/shared/solana/encoding/base58.ts';
import { parseJson } from '@sluice/shared/codec/bytes.ts';
import { LruCache } from '@sluice/shared/metadata/lru.ts';
import type { OffChainMetadata } from '@sluice/shared/metadata/outcome.ts';
import type { PriceEvent, StreamEvent } from '@sluice/shared/wire/events/events.ts';
import { migrationsTopic, newTokensTopic, pricesTopic, tradesTopic } from '@sluice/shared/wire/stream/topics.ts';
import type { AccountReader } from '../chain/account-reader.ts';
import type { PoolReader } from '../pools/pool-reader.ts';
import type { LazyEvent } from '../../stream/history/lazy-event.ts';
import type { History } from '../../stream/history/history.ts';
import type { MarketHealth } from '../market-health.ts';
import { creationOf, renderToken, type Creation } from './render-token.ts';
import { TokenNames } from './token-names.ts';
import { retractedAfter } from '../surviving.ts';
import { planToken, readToken, type TokenPlan, type TokenRead } from './token-facts.ts';
import { MintView } from './mint-view.ts';

/** Limits of the book. Above these limits, the token that was unused longest is dropped, a read is refused as unavailable, or the oldest entry is dropped. */
const bookLimits = {
  /** About 7 KB each. */
  tokens: 20_000,
  /** Minutes with trades, of all tokens together; about 100 bytes each. */
  minutes: 500_000,
  /** Cold tokens read at the same time. */
  loads: 1_024,
  /** Warm tokens refreshed at the same time. */
  refreshes: 32,
  /** Addresses that are known not to be mints. */
  negatives: 20_000,
  creations: 10_000,
  rendered: 4_096,
} as const;

/** How long a rendered answer is used. */
const renderedForMs = 250;
/** After this time the next request causes the chain to be read again. */
const refreshAfterMs = 60_000;
/** When the stored trades could not be joined with the log, they are read again after this time. */
const joinAgainMs = 1_000;
/** How long an address is remembered as no mint. A missing account may exist in the next slot. An account of another kind never becomes a mint. */
const missingForMs = 2_000;
const noMintForMs = 30_000;
const touchEveryMs = 1_000;

export interface TokenBookOptions {
  readonly accounts: AccountReader;
  readonly market: MarketReader;
  readonly history: History;
  readonly health: MarketHealth;
  readonly pools: PoolReader;
  readonly placeOf: BusSubscriber['placeOf'];
  /** The verdicts of ingest on slots. */
  readonly slots: Pick<ConfirmedSlots, 'fateOfSlot'>;
  /** Off-chain metadata by `uri`. Null: not known yet. */
  readonly offChain: (uri: string) => OffChainMetadata | null;
  readonly clock: Pick<Clock, 'wallMs' | 'steadyMs'>;
  readonly log: Logger;
}

export type TokenOutcome =
  | { readonly ok: true; readonly token: MintView }
  | { readonly ok: false; readonly reason: 'no_mint' }
  | { readonly ok: false; readonly reason: 'unavailable'; readonly message: string };

const noMint: TokenOutcome = { ok: false, reason: 'no_mint' };
const unavailable = (message: string): TokenOutcome => ({ ok: false, reason: 'unavailable', message });

const noSummary: MarketSummary = { checkpoint: null, minutes: [], price: null };

const pricesPrefix = pricesTopic('');
const tradesPrefix = tradesTopic('');

/**
 * The tokens that were requested, held in memory and updated from the log. A warm token is one that the book holds; it is answered
 * without any read. A cold token costs one read of the chain and one of the stored trades, however many requests ask for it at once.
 */
export class TokenBook {
  readonly counters = { loads: 0, refreshes: 0, shared: 0, refused: 0, negativeHits: 0, evicted: 0 };
  readonly #options: TokenBookOptions;
  /** What was created or requested, for the search. A loss of the log changes no name. */
  readonly names = new TokenNames();
  /** Ordered by last use, oldest first. */
  readonly #tokens = new Map<string, MintView>();
  readonly #loads = new Map<string, Promise<TokenOutcome>>();
  /** Addresses that are known not to be mints. */
  readonly #negatives = new LruCache<true>(bookLimits.negatives);
  /** By mint: what its creation event reported, and the id of that event. */
  readonly #creations = new Map<string, { readonly id: string; readonly creation: Creation }>();
  readonly rendered = new LruCache<Buffer>(bookLimits.rendered);
  #minutes = 0;
  #refreshing = 0;
  /** The first offset after the last loss of the log. */
  #wholeFrom = 0;
  /** Counts the losses of the log. A read that began before a loss is not joined with the log after it. */
  #losses = 0;

  constructor(options: TokenBookOptions) {
    this.#options = options;
    options.health.whenEventsMayBeMissing(() => this.#forgetAll());
  }

  get size(): number {
    return this.#tokens.size;
  }

  warm(mint: string): MintView | null {
    const token = this.#tokens.get(mint);
    if (token === undefined) return null;
    const nowMs = this.#options.clock.steadyMs();
    if (nowMs - token.touchedAtMs >= touchEveryMs) {
      token.touchedAtMs = nowMs;
      this.#tokens.delete(mint);
      this.#tokens.set(mint, token);
    }
    return token;
  }

  /** Raw supply of a warm token. Null: the token is cold, or its mint states no supply, as that of wrapped SOL. */
  supplyOf(mint: string): bigint | null {
    const supply = this.#tokens.get(mint)?.facts.token.supply ?? 0n;
    return supply === 0n ? null : supply;
  }

  /** The token. If it is cold, it is read. Never rejects. */
  find(mint: string): TokenOutcome | Promise<TokenOutcome> {
    const token = this.warm(mint);
    if (token !== null) return { ok: true, token };
    const loading = this.#loads.get(mint);
    if (loading !== undefined) {
      this.counters.shared++;
      return loading;
    }
    if (!isAddress(mint)) return noMint;
    if (this.#negatives.get(mint, this.#options.clock.steadyMs()) === true) {
      this.counters.negativeHits++;
      return noMint;
    }
    if (this.#loads.size >= bookLimits.loads) {
      this.counters.refused++;
      return unavailable('Too many tokens are being read.');
    }
    const load = this.#load(mint).finally(() => this.#loads.delete(mint));
    this.#loads.set(mint, load);
    return load;
  }

  /** The answer of `/token/info` as bytes, at most `renderedForMs` old. */
  render(token: MintView): Buffer {
    const { mint, facts } = token;
    const steadyMs = this.#options.clock.steadyMs();
    const rendered = this.rendered.get(mint, steadyMs);
    if (rendered !== undefined) return rendered;
    const { health, slots, offChain } = this.#options;
    const creation = this.#creations.get(mint)?.creation ?? null;
    const uri = facts.identity?.uri ?? creation?.identity.uri ?? '';
    const context = { health, creation, offChain: uri === '' ? null : offChain(uri), slots, nowMs: this.#wallMs() };
    const bytes = Buffer.from(JSON.stringify(renderToken(token, context)));
    this.rendered.set(mint, bytes, 1, steadyMs + renderedForMs);
    return bytes;
  }

  identityOf(token: MintView): { readonly name: string | null; readonly symbol: string | null; readonly uri: string | null } | null {
    return token.facts.identity ?? this.#creations.get(token.mint)?.creation.identity ?? null;
  }

  /** Wall time, for what is compared with the times of events and trades. */
  #wallMs(): number {
    return this.#options.clock.wallMs();
  }

  // --- The log.

  onEntry(entry: LogEntry, lazy: LazyEvent, replayed: boolean): void {
    if (!replayed) this.#options.health.noteEntry();
    for (const { topic } of entry.topics) {
      if (topic.startsWith(pricesPrefix)) this.#onEvent(topic.slice(pricesPrefix.length), entry, lazy, replayed);
      else if (topic.startsWith(tradesPrefix) && topic[tradesPrefix.length] !== '@') {
        this.#onEvent(topic.slice(tradesPrefix.length), entry, lazy, replayed);
      } else if (topic === newTokensTopic || topic === migrationsTopic) this.#onRare(entry, lazy, replayed);
    }
  }

  /** Entries of the log were lost. The tokens are read again when they are requested. */
  onLost(last: number): void {
    this.#wholeFrom = last + 1;
    this.#forgetAll();
  }

  #forgetAll(): void {
    this.#losses++;
    this.#tokens.clear();
    this.rendered.clear();
    this.#minutes = 0;
  }

  #onEvent(mint: string, entry: LogEntry, lazy: LazyEvent, replayed: boolean): void {
    if (this.#negatives.size > 0) this.#negatives.delete(mint);
    const token = this.#tokens.get(mint);
    if (token === undefined) return;
    const { event } = lazy;
    if (event.type === 'retract') {
      // Its effect on price and volumes cannot be undone, so the token is read again.
      this.#drop(token);
      return;
    }
    if (event.type === 'price' && !replayed) this.#options.health.noteLive(event);
    const before = token.minutes?.size ?? 0;
    token.apply(event, entry.offset, this.#wallMs());
    this.#minutes += (token.minutes?.size ?? 0) - before;
  }

  #onRare(entry: LogEntry, lazy: LazyEvent, replayed: boolean): void {
    const { event } = lazy;
    if (event.type === 'migration') this.#onEvent(event.mint, entry, lazy, replayed);
    else if (event.type === 'newToken') {
      this.#negatives.delete(event.mint);
      const creation = creationOf(event);
      this.#creations.delete(event.mint);
      this.#creations.set(event.mint, { id: event.id, creation });
      const [oldest] = this.#creations.keys();
      if (this.#creations.size > bookLimits.creations) this.#creations.delete(oldest!);
      this.names.learn(event.mint, creation.identity, Math.floor(event.ts.received / 1_000));
    } else if (event.type === 'retract') this.#onRetracted(event.id);
  }

  /** Handles a creation or migration. Its topics do not name the token, so the event is decoded; there are few of them. */
  #onRetracted(id: string): void {
    for (const [mint, found] of this.#creations) {
      if (found.id !== id) continue;
      this.#creations.delete(mint);
      this.names.forget(mint);
    }
    for (const token of this.#tokens.values()) if (token.migrationId === id) this.#drop(token);
  }

  // --- Reading.

  async #load(mint: string): Promise<TokenOutcome> {
    this.counters.loads++;
    const losses = this.#losses;
    const summary = this.#summary(mint);
    const read = await this.#readPools(mint);
    if (read === null) return unavailable('No node of the chain answers.');
    const { plan, outcome } = read;
    if (outcome.kind === 'unreadable') return unavailable('The mint has an unknown form.');
    if (outcome.kind !== 'token') return this.#noMint(mint, outcome.kind);
    const stored = await summary;
    const price = stored === null ? null : this.#priceOf(mint, stored);
    const counted = stored?.minutes.at(-1)?.close ?? null;
    const token = new MintView(plan, outcome.facts, price, counted, this.#options.health.coins, this.#options.clock.steadyMs());
    const isWhole = losses === this.#losses;
    this.#join(token, isWhole ? stored : null);
    // If the log lost entries during the read, the result is used for this answer only.
    if (isWhole) this.#add(token);
    return { ok: true, token };
  }

  /** Reads a token with all its pools; null if no node answers. */
  async #readPools(mint: string): Promise<{ readonly plan: TokenPlan; readonly outcome: TokenRead } | null> {
    const { pools } = this.#options;
    const derived = pools.derivedPlaces(mint);
    const others = pools.otherPlaces(mint, derived);
    const first = await this.#readPlan(planToken(mint, derived));
    const more = await others;
    if (first?.outcome.kind !== 'token' || more.length === 0) return first;
    return (await this.#readPlan(planToken(mint, [...derived, ...more]))) ?? first;
  }

  async #readPlan(plan: TokenPlan): Promise<{ readonly plan: TokenPlan; readonly outcome: TokenRead } | null> {
    const outcome = await this.#attempt(plan.mint, 'token_read_failed', () => this.#read(plan));
    return outcome === null ? null : { plan, outcome };
  }

  async #read(plan: TokenPlan): Promise<TokenRead> {
    const { accounts } = this.#options;
    const read = await accounts.read(plan.addresses);
    return readToken(plan, read, Math.round(this.#wallMs() - (this.#options.clock.steadyMs() - read.askedAtMs)));
  }

  #noMint(mint: string, kind: 'missing' | 'no_mint'): TokenOutcome {
    // The stream has reported the token, so the node is behind.
    if (kind === 'missing' && this.#isReported(mint)) return unavailable('The node has not seen this token yet.');
    this.#negatives.set(mint, true, 1, this.#options.clock.steadyMs() + (kind === 'missing' ? missingForMs : noMintForMs));
    return noMint;
  }

  #isReported(mint: string): boolean {
    const { history } = this.#options;
    return this.#creations.has(mint) || history.newest(pricesTopic(mint)) > 0 || history.newest(tradesTopic(mint)) > 0;
  }

  #summary(mint: string): Promise<MarketSummary | null> {
    return this.#attempt(mint, 'market_summary_failed', () => this.#options.market.summary(mint, Math.floor(this.#wallMs() / 1000)));
  }

  /** Null if it failed, which is logged as `event`. */
  async #attempt<T>(mint: string, event: string, read: () => Promise<T>): Promise<T | null> {
    try {
      return await read();
    } catch (error) {
      this.#options.log.debug({ err: error, mint }, event);
      return null;
    }
  }

  /** The stored price event. Null: it was retracted since. */
  #priceOf(mint: string, { checkpoint, price }: MarketSummary): PriceEvent | null {
    const event = price === null ? null : (parseJson(price) as StreamEvent);
    if (event?.type !== 'price') return null;
    const retracted = retractedAfter(this.#options.history, pricesTopic(mint), checkpoint?.offset ?? 0);
    return retracted.has(event.id) ? null : event;
  }

  #join(token: MintView, summary: MarketSummary | null): void {
    const { history, placeOf } = this.#options;
    const before = token.minutes?.size ?? 0;
    token.joinedAtMs = this.#options.clock.steadyMs();
    const wholeFrom = Math.max(this.#wholeFrom, history.oldestOffset ?? 0);
    token.join(summary ?? noSummary, history, { placeOf, wholeFrom }, this.#wallMs());
    if (this.#tokens.get(token.mint) === token) this.#minutes += (token.minutes?.size ?? 0) - before;
  }

  /** Refreshes what is due, in the background. No answer waits for it. */
  refreshIfDue(token: MintView): void {
    const nowMs = this.#options.clock.steadyMs();
    if (token.minutes === null && nowMs - token.joinedAtMs >= joinAgainMs) {
      token.joinedAtMs = nowMs;
      void this.#joinAgain(token);
    }
    if (nowMs - token.refreshedAtMs < refreshAfterMs || this.#refreshing >= bookLimits.refreshes) return;
    token.refreshedAtMs = nowMs;
    void this.#refresh(token);
  }

  async #joinAgain(token: MintView): Promise<void> {
    const losses = this.#losses;
    const summary = await this.#summary(token.mint);
    if (losses === this.#losses && this.#tokens.get(token.mint) === token) this.#join(token, summary);
  }

  async #refresh(token: MintView): Promise<void> {
    this.#refreshing++;
    this.counters.refreshes++;
    await this.#attempt(token.mint, 'token_refresh_failed', async () => {
      const outcome = await this.#read(token.plan);
      if (outcome.kind === 'token') {
        token.refresh(outcome.facts);
        this.rendered.delete(token.mint);
        // The mint may have been closed, or the node may be behind. The next request reads it again.
      } else if (outcome.kind === 'missing' || outcome.kind === 'no_mint') this.#drop(token);
    });
    this.#refreshing--;
  }

  // --- Bounds.

  #add(token: MintView): void {
    const known = this.#tokens.get(token.mint);
    if (known !== undefined) this.#drop(known);
    this.#tokens.set(token.mint, token);
    this.names.learn(token.mint, token.facts.identity, null);
    token.touchedAtMs = this.#options.clock.steadyMs();
    this.#minutes += token.minutes?.size ?? 0;
    for (const oldest of this.#tokens.values()) {
      if (this.#tokens.size <= bookLimits.tokens && this.#minutes <= bookLimits.minutes) return;
      this.counters.evicted++;
      this.#drop(oldest);
    }
  }

  #drop(token: MintView): void {
    if (this.#tokens.get(token.mint) !== token) return;
    this.#tokens.delete(token.mint);
    this.rendered.delete(token.mint);
    this.#minutes -= token.minutes?.size ?? 0;
  }
}

/** Why an endpoint has no answer about this token. */
export function refusalOf(outcome: Extract<TokenOutcome, { ok: false }>) {
  if (outcome.reason === 'no_mint') return { error: 'INVALID_MINT' } as const;
  return { error: 'UPSTREAM_UNAVAILABLE', message: outcome.message } as const;
}
