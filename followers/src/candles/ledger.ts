import type { PriceEvent } from '@sluice/shared/wire/events/events.ts';
import { allIntervals, beginFold, foldNext, type Fold } from '@sluice/shared/market/candles/fold-trades.ts';
import { parseJson } from '@sluice/shared/codec/bytes.ts';
import type { MintHead } from '@sluice/shared/market/pools/main-pool.ts';
import type { MintChange } from '@sluice/shared/market/market.ts';
import { currentHead } from '@sluice/shared/market/verdicts/undecided.ts';
import type { PriceKey, UndecidedPrice, Undecided, UndecidedTrade } from '@sluice/shared/market/verdicts/undecided.ts';
import type { MarketEvent, TradeRead } from '../kit/market-event.ts';
import { UndecidedEvents, type Line } from '../kit/undecided.ts';
import { MintDraft } from './mint-draft.ts';

/**
 * Bounds of undecided items: trades and prices of all mints, trades of one mint, prices of one mint. Above these limits, the oldest are settled and
 * counted as forgotten: they remain even if their slot dies.
 */
const limits = { undecided: 100_000, tradesOfMint: 2_000, pricesOfMint: 64 } as const;
/** Mints that are settled in one batch after their slots are confirmed. The others wait for the next batch. */
const settledPerBatch = 100;
/** Mints in memory. Above this limit, mints without undecided items are dropped, and read again when needed. */
const maxMints = 50_000;

/** A price without its bytes, which are in the store. */
interface UndecidedPriceKey extends PriceKey {
  readonly id: string;
}

interface MintState extends Line<UndecidedTrade> {
  readonly mint: string;
  /** State with everything that is settled. */
  head: MintHead | null;
  readonly prices: UndecidedPriceKey[];
  nextOrder: number;
}

/**
 * The undecided part of the market. A trade is settled when its slot is confirmed, together with all earlier trades of the mint. Until then
 * it stays outside the buckets, in chain order, which may differ from the order of the log. Holds state, but uses no I/O and no clock.
 */
export class MarketLedger {
  readonly #mints = new Map<string, MintState>();
  readonly #trades = new UndecidedEvents<UndecidedTrade, MintState>({
    of: ({ trade }) => trade,
    fold: (state, one) => {
      const draft = this.#draftOf(state);
      foldNext(foldOf(state, draft), one.trade);
      draft.dropTrade(one);
    },
    undo: (state, at) => {
      const draft = this.#draftOf(state);
      touchAround(draft, state, at);
      draft.dropTrade(state.waiting[at]!);
    },
    reordered: (state, at) => touchAround(this.#draftOf(state), state, at),
    mostOfLine: limits.tradesOfMint,
  });
  #prices = 0;
  /** Changes of the section that is being taken. */
  #drafts = new Map<MintState, MintDraft>();

  /** Continues with the undecided items of the previous term. */
  constructor(undecided: ReadonlyMap<string, Undecided>, heads: ReadonlyMap<string, MintHead>) {
    for (const [mint, { trades, prices }] of undecided) {
      const nextOrder = Math.max(0, ...trades.map(({ order }) => order + 1));
      const state: MintState = { mint, head: heads.get(mint) ?? null, waiting: [...trades], prices: prices.map(withoutBytes), nextOrder };
      this.#mints.set(mint, state);
      this.#trades.resume(state);
      this.#prices += prices.length;
      for (const { slot } of prices) this.#trades.await(state, slot);
    }
  }

  /** Trades and prices that are undecided. */
  get undecided(): number {
    return this.#trades.size + this.#prices;
  }

  get forgotten(): number {
    return this.#trades.forgotten;
  }

  /** Those of some mints whose heads must be read before their events are taken. */
  unknown(mints: Iterable<string>): string[] {
    if (this.#mints.size > maxMints) {
      for (const [mint, { waiting, prices }] of this.#mints) if (waiting.length + prices.length === 0) this.#mints.delete(mint);
    }
    return [...new Set(mints)].filter((mint) => !this.#mints.has(mint));
  }

  learn(mints: readonly string[], heads: ReadonlyMap<string, MintHead>): void {
    for (const mint of mints) this.#mints.set(mint, { mint, head: heads.get(mint) ?? null, waiting: [], prices: [], nextOrder: 0 });
  }

  /** The head of a mint, with undecided trades; null if nothing is known of it. */
  headOf(mint: string): MintHead | null {
    const state = this.#mints.get(mint);
    return state === undefined ? null : currentHead(state.head, state.waiting);
  }

  /** The changes that events, in log order, cause. */
  take(events: readonly MarketEvent[]): readonly MintChange[] {
    this.#drafts = new Map();
    for (const event of events) {
      if (event.kind === 'slots') {
        this.#trades.decide(event.verdict);
        continue;
      }
      const state = event.mint === null ? this.#holderOf(event.id) : this.#mints.get(event.mint);
      if (state === undefined) continue;
      if (event.kind === 'price') this.#price(state, event);
      else if (event.kind === 'retract') this.#retract(state, event);
      else if (event.kind === 'trade') this.#trade(state, event);
      else this.#pool(state, event);
    }
    for (let left = settledPerBatch; left > 0 && this.#settleNext(); left--);
    while (this.undecided > limits.undecided && (this.#settleNext() || this.#trades.release()));
    return [...this.#drafts.values()].flatMap((draft) => draft.change() ?? []);
  }

  #draftOf(state: MintState): MintDraft {
    let draft = this.#drafts.get(state);
    if (draft === undefined) this.#drafts.set(state, (draft = new MintDraft(state.mint)));
    return draft;
  }

  #trade(state: MintState, { trade, view }: TradeRead): void {
    const one = { order: state.nextOrder, trade };
    const at = this.#trades.add(state, one);
    if (at === null) return;
    one.order = orderAt(state.waiting, at);
    state.nextOrder++;
    const draft = this.#draftOf(state);
    draft.addTrade(one, view);
    touchAround(draft, state, at);
  }

  /** A read of the chain is never retracted, so it is settled at once, before the trades that wait. */
  #pool(state: MintState, { trade }: TradeRead): void {
    const draft = this.#draftOf(state);
    const fold = foldOf(state, draft);
    foldNext(fold, trade);
    state.head = fold.head;
    touchFrom(draft, state.waiting, 0);
  }

  #price(state: MintState, { id, slot, poolAddress, view }: Extract<MarketEvent, { kind: 'price' }>): void {
    const { prices } = state;
    const price: UndecidedPriceKey = { id, slot, poolAddress };
    const before = prices.findLastIndex((other) => other.slot <= slot && other.poolAddress === poolAddress);
    if (prices[before]?.slot === slot) prices[before] = price;
    else {
      let at = prices.length;
      while (at > 0 && prices[at - 1]!.slot > slot) at--;
      prices.splice(at, 0, price);
      this.#prices++;
    }
    this.#draftOf(state).addPrice({ slot, poolAddress, view });
    if (prices.length > limits.pricesOfMint) this.#dropPrice(state, 0);
    this.#trades.await(state, slot);
  }

  #retract(state: MintState, { id, of }: Extract<MarketEvent, { kind: 'retract' }>): void {
    if (of === 'price') {
      const at = state.prices.findLastIndex((price) => price.id === id);
      if (at !== -1) this.#dropPrice(state, at);
      return;
    }
    if (of === 'trade') this.#draftOf(state).retract(id);
    this.#trades.retract(state, id);
  }

  /** False if nothing is decided any more. */
  #settleNext(): boolean {
    const state = this.#trades.nextDue();
    if (state === undefined) return false;
    this.#trades.settle(state);
    state.head = this.#drafts.get(state)?.fold?.head ?? state.head;
    this.#settlePrices(state);
    return true;
  }

  #settlePrices(state: MintState): void {
    const { prices, waiting } = state;
    // The main pool is known only after a trade was settled. A mint that never traded has none.
    if (state.head === null && waiting.length > 0) return;
    for (let at = 0; at < prices.length;) {
      const price = prices[at]!;
      const { slot, poolAddress } = price;
      const fate = this.#trades.fateOfSlot(slot);
      if (fate === 'wait') {
        at++;
        continue;
      }
      if (fate === 'pass' && state.head !== null && poolAddress === state.head.poolAddress && slot >= state.head.tickSlot) {
        const draft = this.#draftOf(state);
        const { head } = foldOf(state, draft);
        head!.tickSlot = slot;
        state.head = head;
        draft.settlePrice(price);
        prices.splice(at, 1);
        this.#prices--;
      } else this.#dropPrice(state, at);
    }
  }

  #dropPrice(state: MintState, at: number): void {
    for (const gone of state.prices.splice(at, 1)) this.#draftOf(state).dropPrice(gone);
    this.#prices--;
  }

  /** The mint with an undecided event whose topics do not name the mint, which is rare. */
  #holderOf(id: string): MintState | undefined {
    for (const state of this.#mints.values()) if (state.waiting.some(({ trade }) => trade.id === id)) return state;
    return undefined;
  }
}

/** The order of a trade at this place: after all, or between its neighbours of the same slot. Readers sort by it. */
function orderAt(waiting: readonly UndecidedTrade[], at: number): number {
  const { order, trade } = waiting[at]!;
  const [before, after] = [waiting[at - 1], waiting[at + 1]];
  if (after?.trade.slot !== trade.slot) return order;
  return before?.trade.slot === trade.slot ? (before.order + after.order) / 2 : after.order - 1;
}

/** Settled changes of a mint in this batch, on top of its earlier state. */
function foldOf(state: MintState, draft: MintDraft): Fold {
  return (draft.fold ??= beginFold(state.head, allIntervals));
}

function withoutBytes({ slot, poolAddress, json }: UndecidedPrice): UndecidedPriceKey {
  return { id: (parseJson(json) as PriceEvent).id, slot, poolAddress };
}

function touchFrom(draft: MintDraft, trades: readonly UndecidedTrade[], at: number): void {
  for (let index = at; index < trades.length; index++) draft.touch(trades[index]!.trade.atS);
}

/** A trade may change the candles of those after it in chain order, and of the two slots before it, whose prices were not decided. */
function touchAround(draft: MintDraft, { head, waiting }: MintState, at: number): void {
  let from = at;
  while (from > 0 && waiting[from - 1]!.trade.slot >= waiting[at]!.trade.slot - 2) from--;
  touchFrom(draft, waiting, from);
  for (const { atS } of [...(head?.slots ?? []), ...(head?.lateSlots ?? [])]) draft.touch(atS);
}
