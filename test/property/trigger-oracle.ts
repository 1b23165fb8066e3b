import type { AccountTrade, PriceTick, Watch } from '../../followers/src/triggers/watch.ts';

/** An entry of the log, as the history of a test has it. */
export type Entry =
  | { readonly kind: 'price'; readonly tick: PriceTick }
  | { readonly kind: 'trade'; readonly trade: AccountTrade & { readonly offset: number } }
  | { readonly kind: 'retract'; readonly of: 'price' | 'event'; readonly mint: string; readonly id: string }
  | { readonly kind: 'slots'; readonly alive: readonly number[]; readonly dead: readonly number[]; readonly lost: boolean };

/** A value from a moment on. Null: no value counts. */
interface Step {
  slot: number;
  value: number | null;
  fromMs: number;
}

/** A watch, and what the rules say about it. All of it is computed again from the steps whenever time passes. */
interface Watched {
  readonly watch: Watch;
  sinceMs: number;
  steps: Step[];
  watermark: number | null;
  costSol: number | null;
  /** Trades that it met and that were not given to it, oldest first. */
  trades: (AccountTrade & { readonly offset: number })[];
  readonly counted: Set<string>;
}

type Confirm = Watch['confirm'];

/**
 * The rules of the conditions, written down as plainly as possible: every watch has a list of the values that counted for it, and each question is
 * answered by looking at the whole list.
 */
export class TriggerOracle {
  readonly watches = new Map<string, Watched>();
  solUsd: number | null = null;
  #sweptMs = Number.NEGATIVE_INFINITY;
  readonly #alive = new Set<number>();
  readonly #dead = new Set<number>();
  /** Ticks that can be retracted, in the order of their slots. */
  #open: PriceTick[] = [];
  readonly #decided = new Map<string, PriceTick>();
  readonly #current = { processed: new Map<string, PriceTick>(), confirmed: new Map<string, PriceTick>() };

  readonly #supply: number;

  constructor(supply: number) {
    this.#supply = supply;
  }

  add(watch: Watch, nowMs: number, costSol: number | null = null): void {
    const watched: Watched = { watch, sinceMs: nowMs, steps: [], watermark: watch.watermark, costSol, trades: [], counted: new Set() };
    this.watches.set(watch.id, watched);
    const tick = this.#current[watch.confirm].get(watch.mint ?? '');
    if (tick !== undefined) this.#push(watched, tick, tick.slot, nowMs);
  }

  /** A price that is nearer to the value now is held from now on. */
  setCost(mint: string, costSol: number | null, nowMs: number): void {
    for (const watched of this.watches.values()) {
      const { when } = watched.watch;
      if (watched.watch.mint !== mint || when.kind !== 'profit' || watched.costSol === costSol) continue;
      const before = watched.costSol;
      watched.costSol = costSol;
      const isNearer = before === null || costSol === null || (when.op === '<=' ? costSol > before : costSol < before);
      if (isNearer) watched.sinceMs = nowMs;
    }
  }

  /** The watch was given its trade. */
  taken(id: string, tradeId: string): void {
    const watched = this.watches.get(id)!;
    watched.trades = watched.trades.filter((trade) => trade.id !== tradeId);
  }

  note(entry: Entry, nowMs: number): void {
    this.pass(nowMs, this.solUsd);
    switch (entry.kind) {
      case 'price':
        return this.#price(entry.tick, nowMs);
      case 'trade':
        return this.#trade(entry.trade);
      case 'retract':
        return entry.of === 'price' ? this.#retract(entry.id, nowMs) : this.#retractTrade(entry.id);
      case 'slots':
        for (const slot of entry.alive) this.#alive.add(slot);
        for (const slot of entry.dead) this.#dead.add(slot);
        this.#decide(nowMs);
        if (entry.lost) this.#lose();
    }
  }

  /** Time has come to here. */
  pass(nowMs: number, solUsd: number | null): void {
    this.#raise(nowMs);
    const isDue = nowMs - this.#sweptMs >= 1_000 || (solUsd === null) !== (this.solUsd === null);
    if (solUsd === this.solUsd || !isDue) return;
    this.solUsd = solUsd;
    this.#sweptMs = nowMs;
    for (const watched of this.watches.values()) {
      const tick = this.#current[watched.watch.confirm].get(watched.watch.mint ?? '');
      if (tick === undefined || !metricOf(watched.watch).endsWith('Usd')) continue;
      this.#push(watched, tick, Number.NaN, nowMs);
    }
    this.#raise(nowMs);
  }

  #lose(): void {
    this.#open = [];
    this.#decided.clear();
    this.#current.processed.clear();
    this.#current.confirmed.clear();
    for (const watched of this.watches.values()) watched.steps = [];
  }

  /** The ids of the watches that are met, each with the value or the trade that it has. */
  met(nowMs: number): Map<string, number | string> {
    this.#raise(nowMs);
    const met = new Map<string, number | string>();
    for (const [id, watched] of this.watches) {
      if (watched.watch.when.kind === 'account') {
        const [trade] = watched.trades;
        if (trade !== undefined && (watched.watch.confirm === 'processed' || this.#alive.has(trade.slot))) met.set(id, trade.id);
      } else if (this.#holds(watched, nowMs)) met.set(id, watched.steps.at(-1)!.value!);
    }
    return met;
  }

  /** A read of the market's state. */
  read(tick: PriceTick, nowMs: number): void {
    this.pass(nowMs, this.solUsd);
    const newest = this.#current.processed.get(tick.mint);
    if (newest === undefined || tick.slot > newest.slot) this.#price(tick, nowMs);
  }

  #price(tick: PriceTick, nowMs: number): void {
    if (this.#dead.has(tick.slot)) return;
    const newest = this.#current.processed.get(tick.mint);
    this.#open = [...this.#open, tick].toSorted((a, b) => a.slot - b.slot);
    if (newest === undefined || tick.slot >= newest.slot) this.#show('processed', tick, nowMs);
    this.#decide(nowMs);
  }

  #retract(id: string, nowMs: number): void {
    const tick = this.#open.find((other) => other.id === id);
    if (tick === undefined) return;
    this.#open = this.#open.filter((other) => other !== tick);
    this.#beginAgain(tick.mint, nowMs);
  }

  #decide(nowMs: number): void {
    const dead = this.#open.filter(({ slot }) => this.#dead.has(slot));
    this.#open = this.#open.filter(({ slot }) => !this.#dead.has(slot));
    for (const mint of new Set(dead.map((tick) => tick.mint))) this.#beginAgain(mint, nowMs);
    for (const mint of new Set(this.#open.map((tick) => tick.mint))) {
      const ofMint = this.#open.filter((tick) => tick.mint === mint);
      const firstOpen = ofMint.findIndex(({ slot }) => !this.#alive.has(slot));
      const sure = firstOpen === -1 ? ofMint : ofMint.slice(0, firstOpen);
      this.#open = this.#open.filter((tick) => !sure.includes(tick));
      for (const [at, tick] of sure.entries()) {
        if (tick.slot >= (this.#decided.get(mint)?.slot ?? 0)) this.#decided.set(mint, tick);
        if (sure[at + 1]?.slot === tick.slot) continue;
        if (tick.slot >= (this.#current.confirmed.get(mint)?.slot ?? 0)) this.#show('confirmed', tick, nowMs);
      }
    }
    for (const watched of this.watches.values()) watched.trades = watched.trades.filter(({ slot }) => this.#survives(watched, slot));
  }

  /** A trade of a dead fork is void for watches of confirmed trades. For the others, the log retracts it. */
  #survives({ watch }: Watched, slot: number): boolean {
    return watch.confirm === 'processed' || !this.#dead.has(slot);
  }

  #beginAgain(mint: string, nowMs: number): void {
    const left = this.#open.filter((tick) => tick.mint === mint);
    const decided = this.#decided.get(mint);
    const newest = [...(decided === undefined ? [] : [decided]), ...left].reduce<PriceTick | undefined>(
      (best, tick) => (best === undefined || tick.slot >= best.slot ? tick : best),
      undefined,
    );
    for (const watched of this.#of(mint, 'processed')) watched.steps = [];
    if (newest === undefined) this.#current.processed.delete(mint);
    else this.#show('processed', newest, nowMs);
  }

  #show(confirm: Confirm, tick: PriceTick, nowMs: number): void {
    this.#current[confirm].set(tick.mint, tick);
    for (const watched of this.#of(tick.mint, confirm)) this.#push(watched, tick, tick.slot, nowMs);
    this.#raise(nowMs);
  }

  /** The last value of a slot is its only one, and counts from when it came. */
  #push(watched: Watched, tick: PriceTick, slot: number, nowMs: number): void {
    const last = watched.steps.at(-1);
    const value = this.#valueOf(watched.watch, tick);
    if (last?.slot === slot) {
      last.value = value;
      last.fromMs = nowMs;
    } else watched.steps.push({ slot, value, fromMs: nowMs });
  }

  #valueOf(watch: Watch, { price, heldSol }: PriceTick): number | null {
    if (watch.minDepthSol > (heldSol ?? 0)) return null;
    const metric = metricOf(watch);
    const inCoin = metric.endsWith('Usd') ? (this.solUsd === null ? null : price * this.solUsd) : price;
    return inCoin === null || !metric.startsWith('marketCap') ? inCoin : inCoin * this.#supply;
  }

  *#of(mint: string, confirm: Confirm): Iterable<Watched> {
    for (const watched of this.watches.values()) if (watched.watch.mint === mint && watched.watch.confirm === confirm) yield watched;
  }

  /** The lowest (of a buy: highest) value of the last `holdMs` is a watermark, if the watch is that old and a value counted all the time. */
  #raise(nowMs: number): void {
    for (const watched of this.watches.values()) {
      const { watch, steps, sinceMs } = watched;
      if (watch.when.kind !== 'trailing') continue;
      const fromMs = nowMs - watch.holdMs;
      if ((steps[0]?.fromMs ?? Number.POSITIVE_INFINITY) > fromMs || sinceMs > fromMs) continue;
      const values = steps.filter((_, at) => (steps[at + 1]?.fromMs ?? Number.POSITIVE_INFINITY) > fromMs).map(({ value }) => value);
      if (values.includes(null)) continue;
      const held = watch.side === 'sell' ? Math.min(...(values as number[])) : Math.max(...(values as number[]));
      const before = watched.watermark ?? held;
      watched.watermark = watch.side === 'sell' ? Math.max(before, held) : Math.min(before, held);
    }
  }

  #holds(watched: Watched, nowMs: number): boolean {
    const { watch, steps, sinceMs } = watched;
    const reaches = this.#conditionOf(watched);
    if (reaches === null) return false;
    let fromMs = Number.POSITIVE_INFINITY;
    for (const { value, fromMs: atMs } of steps.toReversed()) {
      if (value === null || !reaches(value)) break;
      fromMs = atMs;
    }
    return nowMs - Math.max(fromMs, sinceMs) >= watch.holdMs;
  }

  /** Null: it cannot be met yet. */
  #conditionOf({ watch: { when, side }, watermark, costSol }: Watched): ((value: number) => boolean) | null {
    const compare = (op: '>=' | '<=', limit: number) => (value: number) => (op === '>=' ? value >= limit : value <= limit);
    if (when.kind === 'level') return compare(when.op, when.value);
    if (when.kind === 'profit') return costSol === null ? null : compare(when.op, costSol * (1 + when.percent / 100));
    if (when.kind !== 'trailing' || watermark === null) return null;
    return side === 'sell' ? compare('<=', watermark * (1 - when.percent / 100)) : compare('>=', watermark * (1 + when.percent / 100));
  }

  #trade(trade: AccountTrade & { readonly offset: number }): void {
    if (this.#dead.has(trade.slot)) return;
    for (const { watch, trades, counted } of this.watches.values()) {
      const { when } = watch;
      if (when.kind !== 'account' || when.account !== trade.account || when.side !== trade.side) continue;
      if (watch.mint !== null && watch.mint !== trade.mint) continue;
      if ((trade.sizeSol ?? 0) < when.minSol || trade.receivedUs < watch.armedAtMs * 1000) continue;
      if (counted.has(trade.id) || trade.offset <= (watch.after?.offset ?? 0)) continue;
      counted.add(trade.id);
      trades.push(trade);
    }
  }

  #retractTrade(id: string): void {
    for (const watched of this.watches.values()) {
      if (!watched.trades.some((trade) => trade.id === id)) continue;
      watched.trades = watched.trades.filter((trade) => trade.id !== id);
      watched.counted.delete(id);
    }
  }
}

function metricOf({ when }: Watch): string {
  return when.kind === 'level' || when.kind === 'trailing' ? when.metric : 'priceSol';
}
