import { ConfirmedSlots, type ConfirmedFate } from '@sluice/shared/market/confirmed-slots.ts';
import { allIntervals, beginFold, foldNext, type Fold } from '@sluice/shared/market/fold-trades.ts';
import type { MintHead } from '@sluice/shared/market/main-pool.ts';
import type { MintChange } from '@sluice/shared/market/market.ts';
import {
  inChainOrder,
  currentHead,
  type PriceKey,
  type Undecided,
  type UndecidedPrice,
  type UndecidedTrade,
} from '@sluice/shared/market/undecided.ts';
import { MintDraft } from './mint-draft.ts';
import type { MarketEvent } from './read-event.ts';

/**
 * Bounds of undecided items: trades and prices of all mints, trades of one mint, prices of one mint. Above these limits, the oldest are settled and
 * counted as forgotten: they remain even if their slot dies.
 */
const limits = { undecided: 100_000, tradesOfMint: 2_000, pricesOfMint: 64 } as const;
/** Mints that are settled in one batch after their slots are confirmed. The others wait for the next batch. */
const settledPerBatch = 100;
/** Mints in memory. Above this limit, mints without undecided items are dropped, and read again when needed. */
const maxMints = 50_000;
/** A slot further ahead of a confirmed one cannot exist, and waits for no verdict. */
const maxAheadSlots = 4_096;

/** A price without its bytes, which are in the store. */
interface UndecidedPriceKey extends PriceKey {
  readonly id: string;
}

interface MintState {
  readonly mint: string;
  /** State with everything that is settled. */
  head: MintHead | null;
  readonly trades: UndecidedTrade[];
  readonly prices: UndecidedPriceKey[];
  nextOrder: number;
}

/**
 * The undecided part of the market. A trade is settled when its slot is confirmed, together with all earlier trades of the mint. Until then
 * it stays outside the buckets, in chain order, which may differ from the order of the log. Holds state, but uses no I/O and no clock.
 */
export class MarketLedger {
  /** Settled before their slots were confirmed, because of a bound. */
  forgotten = 0;
  readonly #mints = new Map<string, MintState>();
  readonly #slots = new ConfirmedSlots();
  /** Mints with undecided items, by slots that wait for a verdict. */
  readonly #bySlot = new Map<number, Set<MintState>>();
  /** Mints of which something may be decided, the oldest first. */
  readonly #due = new Set<MintState>();
  #undecided = 0;
  /** Slots up to here no longer wait for a verdict. */
  #releasedTo = 0;

  /** Continues with the undecided items of the previous keeper. */
  constructor(undecided: ReadonlyMap<string, Undecided>, heads: ReadonlyMap<string, MintHead>) {
    for (const [mint, { trades, prices }] of undecided) {
      const nextOrder = Math.max(0, ...trades.map(({ order }) => order + 1));
      const state: MintState = { mint, head: heads.get(mint) ?? null, trades: [...trades], prices: prices.map(withoutBytes), nextOrder };
      this.#mints.set(mint, state);
      this.#undecided += trades.length + prices.length;
      for (const { trade } of trades) this.#waitFor(trade.slot, state);
      for (const { slot } of prices) this.#waitFor(slot, state);
    }
  }

  /** Trades and prices that are undecided. */
  get undecided(): number {
    return this.#undecided;
  }

  /** Those of some mints whose heads must be read before their events are taken. */
  unknown(mints: Iterable<string>): string[] {
    if (this.#mints.size > maxMints) {
      for (const [mint, { trades, prices }] of this.#mints) if (trades.length + prices.length === 0) this.#mints.delete(mint);
    }
    return [...new Set(mints)].filter((mint) => !this.#mints.has(mint));
  }

  learn(mints: readonly string[], heads: ReadonlyMap<string, MintHead>): void {
    for (const mint of mints) this.#mints.set(mint, { mint, head: heads.get(mint) ?? null, trades: [], prices: [], nextOrder: 0 });
  }

  /** The head of a mint, with undecided trades; null if nothing is known of it. */
  headOf(mint: string): MintHead | null {
    const state = this.#mints.get(mint);
    return state === undefined ? null : currentHead(state.head, state.trades);
  }

  /** The changes that events, in log order, cause. */
  take(events: readonly MarketEvent[]): readonly MintChange[] {
    const drafts = new Map<MintState, MintDraft>();
    const draftOf = (state: MintState): MintDraft => {
      let draft = drafts.get(state);
      if (draft === undefined) drafts.set(state, (draft = new MintDraft(state.mint)));
      return draft;
    };
    for (const event of events) {
      if (event.kind === 'slots') this.#decide(event.verdict);
      else {
        const state = event.mint === null ? this.#holderOf(event.id) : this.#mints.get(event.mint);
        if (state === undefined) continue;
        if (event.kind === 'trade') this.#trade(state, draftOf(state), event);
        else if (event.kind === 'pool') this.#pool(state, draftOf(state), event);
        else if (event.kind === 'price') this.#price(state, draftOf(state), event);
        else this.#retract(state, draftOf(state), event);
      }
    }
    let left = settledPerBatch;
    for (const state of this.#due) {
      if (left-- === 0) break;
      this.#due.delete(state);
      this.#settle(state, draftOf(state));
    }
    while (this.#undecided > limits.undecided && this.#bySlot.size > 0) this.#release(draftOf);
    return [...drafts.values()].flatMap((draft) => draft.change() ?? []);
  }

  #trade(state: MintState, draft: MintDraft, { trade, json }: Extract<MarketEvent, { kind: 'trade' }>): void {
    const fate = this.#fateOf(trade);
    if (fate === 'drop') return;
    const { trades } = state;
    const one: UndecidedTrade = { order: state.nextOrder++, trade };
    let at = trades.length;
    while (at > 0 && inChainOrder(trades[at - 1]!, one) > 0) at--;
    trades.splice(at, 0, one);
    this.#undecided++;
    draft.addTrade(one, json);
    // A trade that comes before others in chain order may change their candles.
    touchFrom(draft, trades, at);
    if (fate === 'wait') this.#waitFor(trade.slot, state);
    if (fate === 'pass' || trades.length > limits.tradesOfMint) this.#due.add(state);
  }

  /** A read of the chain is never retracted, so it is settled at once, before the trades that wait. */
  #pool(state: MintState, draft: MintDraft, { trade }: Extract<MarketEvent, { kind: 'pool' }>): void {
    const fold = foldOf(state, draft);
    foldNext(fold, trade);
    state.head = fold.head;
    touchFrom(draft, state.trades, 0);
  }

  #price(state: MintState, draft: MintDraft, { id, slot, poolAddress, json }: Extract<MarketEvent, { kind: 'price' }>): void {
    const { prices } = state;
    const price: UndecidedPriceKey = { id, slot, poolAddress };
    const before = prices.findLastIndex((other) => other.slot <= slot && other.poolAddress === poolAddress);
    if (prices[before]?.slot === slot) prices[before] = price;
    else {
      let at = prices.length;
      while (at > 0 && prices[at - 1]!.slot > slot) at--;
      prices.splice(at, 0, price);
      this.#undecided++;
    }
    draft.addPrice({ slot, poolAddress, json });
    if (prices.length > limits.pricesOfMint) this.#dropPrice(state, draft, 0);
    if (this.#fateOfSlot(slot) === 'wait') this.#waitFor(slot, state);
    else this.#due.add(state);
  }

  #retract(state: MintState, draft: MintDraft, { id, of }: Extract<MarketEvent, { kind: 'retract' }>): void {
    if (of === 'price') {
      const at = state.prices.findLastIndex((price) => price.id === id);
      if (at !== -1) this.#dropPrice(state, draft, at);
      return;
    }
    if (of === 'trade') draft.retract(id);
    const at = state.trades.findLastIndex(({ trade }) => trade.id === id);
    if (at !== -1) this.#dropTrade(state, draft, at);
  }

  #decide(verdict: Extract<MarketEvent, { kind: 'slots' }>['verdict']): void {
    this.#slots.take(verdict);
    for (const [slot, waiting] of this.#bySlot) {
      if (this.#fateOfSlot(slot) === 'wait') continue;
      this.#bySlot.delete(slot);
      for (const state of waiting) this.#due.add(state);
    }
  }

  /** Settles decided trades up to the first undecided one. */
  #settle(state: MintState, draft: MintDraft): void {
    const { trades } = state;
    for (let excess = trades.length - limits.tradesOfMint; trades.length > 0; excess--) {
      const [{ trade }] = trades as [UndecidedTrade];
      const fate = this.#fateOf(trade);
      if (fate === 'drop') {
        this.#dropTrade(state, draft, 0);
        continue;
      }
      if (fate === 'wait' && excess <= 0) break;
      if (fate === 'wait' || this.#isLetGo(trade.slot, trade.commitment)) this.forgotten++;
      foldNext(foldOf(state, draft), trade);
      draft.dropTrade(trades.shift()!);
      this.#undecided--;
    }
    state.head = draft.fold?.head ?? state.head;
    this.#settlePrices(state, draft);
  }

  #settlePrices(state: MintState, draft: MintDraft): void {
    const { prices, trades } = state;
    // The main pool is known only after a trade was settled. A mint that never traded has none.
    if (state.head === null && trades.length > 0) return;
    for (let at = 0; at < prices.length;) {
      const price = prices[at]!;
      const { slot, poolAddress } = price;
      const fate = this.#fateOfSlot(slot);
      if (fate === 'wait') {
        at++;
        continue;
      }
      if (fate === 'pass' && state.head !== null && poolAddress === state.head.poolAddress && slot >= state.head.tickSlot) {
        const { head } = foldOf(state, draft);
        head!.tickSlot = slot;
        state.head = head;
        draft.settlePrice(price);
        prices.splice(at, 1);
        this.#undecided--;
      } else this.#dropPrice(state, draft, at);
    }
  }

  #release(draftOf: (state: MintState) => MintDraft): void {
    const oldest = Math.min(...this.#bySlot.keys());
    this.#releasedTo = Math.max(this.#releasedTo, oldest);
    const waiting = this.#bySlot.get(oldest)!;
    this.#bySlot.delete(oldest);
    for (const state of waiting) this.#settle(state, draftOf(state));
  }

  #dropTrade(state: MintState, draft: MintDraft, at: number): void {
    touchFrom(draft, state.trades, at);
    for (const gone of state.trades.splice(at, 1)) draft.dropTrade(gone);
    this.#undecided--;
  }

  #dropPrice(state: MintState, draft: MintDraft, at: number): void {
    for (const gone of state.prices.splice(at, 1)) draft.dropPrice(gone);
    this.#undecided--;
  }

  #waitFor(slot: number, state: MintState): void {
    const waiting = this.#bySlot.get(slot);
    if (waiting === undefined) this.#bySlot.set(slot, new Set([state]));
    else waiting.add(state);
  }

  /** The mint with an undecided event whose topics do not name the mint, which is rare. */
  #holderOf(id: string): MintState | undefined {
    for (const state of this.#mints.values()) if (state.trades.some(({ trade }) => trade.id === id)) return state;
    return undefined;
  }

  #fateOf({ commitment, slot }: UndecidedTrade['trade']): ConfirmedFate {
    return commitment === 'processed' ? this.#fateOfSlot(slot) : 'pass';
  }

  #fateOfSlot(slot: number): ConfirmedFate {
    const { newest } = this.#slots;
    if (slot <= this.#releasedTo || (newest > 0 && slot > newest + maxAheadSlots)) return 'pass';
    return this.#slots.fateOfSlot(slot);
  }

  #isLetGo(slot: number, commitment: string): boolean {
    return commitment === 'processed' && slot <= this.#releasedTo && this.#slots.fateOfSlot(slot) === 'wait';
  }
}

/** Settled changes of a mint in this batch, on top of its earlier state. */
function foldOf(state: MintState, draft: MintDraft): Fold {
  return (draft.fold ??= beginFold(state.head, allIntervals));
}

function withoutBytes({ slot, poolAddress, json }: UndecidedPrice): UndecidedPriceKey {
  const { id } = JSON.parse(Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString()) as { readonly id: string };
  return { id, slot, poolAddress };
}

function touchFrom(draft: MintDraft, trades: readonly UndecidedTrade[], at: number): void {
  for (let index = at; index < trades.length; index++) draft.touch(trades[index]!.trade.atS);
}
