import type { LogPosition } from '@sluice/shared/bus/bus.ts';
import { ConfirmedSlots } from '@sluice/shared/market/verdicts/confirmed-slots.ts';
import type { SlotVerdict } from '@sluice/shared/market/verdicts/slot-verdict.ts';
import type { ArmedLevel, LaneTerms } from './armed.ts';
import { EventWatches, type EventWatch } from './event-watches.ts';
import type { LevelLane } from './lane.ts';
import { MintBook } from './mint-book.ts';
import type { MintPrices } from './mint-prices.ts';
import { priceAtProfit, ProfitWatches, type ProfitWatch } from './profit-watches.ts';
import { reasonOf } from './reasons.ts';
import { TimedWatches, type TimedWatch } from './timed-watches.ts';
import type { AccountTrade, Met, Migration, PriceRead, PriceTick, Watch } from './watch.ts';

/** Watches at one time. Another one is refused. */
const mostWatches = 500_000;
/** Met conditions that a call of `takeMet` may pass over. */
const mostRefused = 2_000;
/** Epochs of the log whose positions are compared. */
const mostEpochs = 16;
/** An `at` or `every` that is met this long after its time is `late`. */
const lateAfterMs = 1_000;

/** What the index uses of an entry of the log. */
export type WatchEvent =
  | PriceTick
  | ((AccountTrade | Migration) & { readonly offset: number })
  | { readonly kind: 'retract'; readonly mint: string | null; readonly id: string; readonly of: 'price' | 'event' }
  | { readonly kind: 'slots'; readonly verdict: SlotVerdict };

type Entry = ArmedLevel | ProfitWatch | EventWatch | TimedWatch;

/**
 * The conditions of armed triggers, by mint and threshold, by account and by time. An event costs what it fires, and not what is armed. Holds state, but uses no
 * I/O and no clock: `nowMs` is of a steady clock, `wallMs` is Unix time.
 *
 * A condition that is met waits until it is taken or stops to hold. Events and times stay met.
 */
export class WatchIndex {
  readonly #byId = new Map<string, Entry>();
  readonly #met = new Map<string, Entry>();
  readonly #slots = new ConfirmedSlots();
  readonly #mints: MintBook;
  readonly #events: EventWatches;
  readonly #timed = new TimedWatches();
  readonly #profits = new ProfitWatches();
  /** The epochs whose positions the log contains, the newest last. */
  #epochs: string[] = [''];
  #isReplaying = false;
  #nowMs = 0;
  #wallMs = 0;
  /** Watches without a mint's price whose reason may have changed. */
  #changed = new Map<string, string | null>();

  constructor() {
    this.#mints = new MintBook(this.#slots, {
      meet: (armed) => this.#meet(armed.id, armed),
      unmeet: ({ id }) => this.#met.delete(id),
    });
    this.#events = new EventWatches({
      fateOf: (event) => this.#mints.fateOf(event),
      meet: (entry) => this.#meet(entry.watch.id, entry),
      unmeet: ({ watch }) => this.#met.delete(watch.id),
      skip: (entry, reason) => this.#setReason(entry, reason),
      isAfter: ({ offset }, other) => !this.#epochs.includes(other.epoch) || offset > other.offset,
    });
  }

  get size(): number {
    return this.#byId.size;
  }

  get mints(): number {
    return this.#mints.size;
  }

  /** Conditions that wait to be taken. */
  get waiting(): number {
    return this.#met.size;
  }

  /** How often a condition was met. */
  metCount = 0;

  /** When `tick` has something to do next, on the steady clock and as Unix milliseconds; Infinity if nothing. */
  get next(): { readonly nowMs: number; readonly wallMs: number } {
    return { nowMs: this.#mints.nextMs, wallMs: this.#timed.nextMs };
  }

  hasMint(mint: string): boolean {
    return this.#mints.get(mint) !== undefined;
  }

  hasAccount(account: string): boolean {
    return this.#events.hasAccount(account);
  }

  get hasMigrations(): boolean {
    return this.#events.hasMigrations;
  }

  /** Watches a condition. One with the same id is replaced; of `account`, the trades that it has met remain. `full`: it is not watched. */
  add(watch: Watch): 'added' | 'full' {
    const { id, when, mint } = watch;
    const known = this.#byId.get(id);
    if (known?.kind === 'event' && when.kind === 'account' && known.watch.when.kind === 'account') {
      known.watch = { ...watch, when };
      return 'added';
    }
    if (known !== undefined) this.remove(id);
    if (this.#byId.size >= mostWatches) return 'full';
    if (when.kind === 'at' || when.kind === 'every') {
      const dueMs = when.kind === 'at' ? when.atMs : (watch.nextAtMs ?? watch.armedAtMs + when.everyMs);
      this.#byId.set(id, this.#timed.add(watch, dueMs));
      return 'added';
    }
    if (when.kind === 'account' || when.kind === 'migration') {
      this.#byId.set(id, this.#events.add({ ...watch, when }));
      return 'added';
    }
    const prices = this.#mints.use(mint!, this.#nowMs);
    if (when.kind === 'profit') {
      const profit: ProfitWatch = {
        kind: 'profit',
        watch: { ...watch, when },
        holdsFromMs: this.#holdsFrom(watch),
        armed: null,
        reason: null,
      };
      this.#byId.set(id, profit);
      this.#armProfit(profit, this.#profits.add(profit), prices);
    } else {
      const isRise = when.kind === 'level' ? when.op === '>=' : watch.side === 'buy';
      const sign = isRise ? -1 : 1;
      const isTrailing = when.kind === 'trailing';
      const key = when.kind === 'level' ? when.value * sign : 0;
      const factor = when.kind === 'level' ? 1 : 1 - (sign * when.percent) / 100;
      const lane = this.#lane(prices, watch, { metric: when.metric, sign, isTrailing });
      const watermark = isTrailing && watch.watermark !== null ? watch.watermark * sign : null;
      const armed = armedOf(watch, lane, key, this.#holdsFrom(watch), factor, watermark);
      this.#mints.arm(armed, this.#nowMs);
      this.#byId.set(id, armed);
    }
    return 'added';
  }

  /** Ends a watch, whether or not it is known. */
  remove(id: string): void {
    const entry = this.#byId.get(id);
    if (entry !== undefined) this.#end(id, entry);
    this.#events.unpin(id);
  }

  /** Entries of this epoch of the log follow. `isContinued`: they continue the offsets of the epoch before. */
  enterEpoch(epoch: string, isContinued: boolean): void {
    if (this.#epochs.at(-1) === epoch) return;
    this.#epochs = [...(isContinued ? this.#epochs : []), epoch].slice(-mostEpochs);
  }

  /** The state begins, or the log lost entries: what was known of prices does not count until the next tick or read. */
  lose(nowMs: number, wallMs: number): void {
    this.#setTime(nowMs, wallMs);
    this.#mints.lose(nowMs, wallMs);
  }

  /** The log is read again from a checkpoint. Nothing can be taken until it is read to its end. */
  beginReplay(nowMs: number, wallMs: number): void {
    this.#isReplaying = true;
    this.lose(nowMs, wallMs);
  }

  endReplay(): void {
    this.#isReplaying = false;
  }

  get isReplaying(): boolean {
    return this.#isReplaying;
  }

  /** Takes the next event of the log. */
  note(event: WatchEvent, nowMs: number, wallMs: number): void {
    this.#setTime(nowMs, wallMs);
    switch (event.kind) {
      case 'price':
        return this.#mints.price(event, nowMs);
      case 'trade':
      case 'migration':
        return this.#events.note(event, { epoch: this.#epochs.at(-1)!, offset: event.offset }, nowMs, wallMs);
      case 'retract':
        return event.of === 'price' ? this.#mints.retract(event.mint, event.id, nowMs) : this.#events.retract(event.id);
      case 'slots':
        this.#slots.take(event.verdict);
        this.#mints.decide(nowMs);
        this.#events.decide();
        if (event.verdict.lost !== undefined) this.lose(nowMs, wallMs);
    }
  }

  /** Time passes. `solUsd`: USD for one SOL; null if it is unknown or too old. */
  tick(nowMs: number, wallMs: number, solUsd: number | null): void {
    this.#setTime(nowMs, wallMs);
    this.#mints.tick(nowMs, solUsd);
    this.#timed.due(wallMs, (timed) => this.#meet(timed.watch.id, timed));
  }

  /**
   * Takes up to `limit` met conditions, the earliest first. A condition that `mayTake` refuses stays met. After many refusals, the next call begins with other
   * conditions. A watch whose condition was taken is removed, except a watch of an account that may fire several times.
   */
  takeMet(limit: number, mayTake: (id: string) => boolean = () => true): Met[] {
    if (this.#isReplaying) return [];
    const taken: Met[] = [];
    const refused: [id: string, entry: Entry][] = [];
    for (const [id, entry] of this.#met) {
      if (taken.length >= limit || refused.length >= mostRefused) break;
      if (mayTake(id)) taken.push(this.#take(id, entry));
      else refused.push([id, entry]);
    }
    if (refused.length < mostRefused) return taken;
    for (const [id, entry] of refused) {
      this.#met.delete(id);
      this.#met.set(id, entry);
    }
    return taken;
  }

  /** The firing that an event began is stored, or is not needed. The checkpoint may pass the event. */
  stored(met: Met): void {
    this.#events.stored(met);
  }

  /** The checkpoint must stay before this position, because an event there is not stored yet. Null: it may pass all. */
  oldestPinned(nowMs: number): LogPosition | null {
    return this.#events.oldestPinned(nowMs);
  }

  /** Why watches wait, for those for which that changed since the last call, at most about `limit`. Null: nothing is in the way. */
  reasons(limit = 1_000): ReadonlyMap<string, string | null> {
    const reasons = this.#changed;
    this.#changed = new Map();
    for (const prices of this.#mints.changed) {
      if (reasons.size >= limit) break;
      this.#mints.changed.delete(prices);
      for (const lane of [...prices.processed.lanes, ...prices.confirmed.lanes]) {
        for (const armed of lane.watches()) {
          const reason = armed.isGone ? armed.reason : reasonOf(armed, prices, this.#mints.solUsd);
          if (reason === armed.reason) continue;
          armed.reason = reason;
          reasons.set(armed.id, reason);
        }
      }
    }
    return reasons;
  }

  /** The watermarks that changed since the last call, by id. */
  watermarks(nowMs: number): ReadonlyMap<string, number> {
    const changed = new Map<string, number>();
    this.#mints.watermarks(nowMs, (id, watermark) => changed.set(id, watermark));
    return changed;
  }

  /** The average cost of one token in SOL, of the tokens that the wallet bought. Null: it is not known, or the wallet has none. */
  setPosition(publicKey: string, mint: string, costSol: number | null): void {
    const cost = costSol !== null && costSol > 0 && Number.isFinite(costSol) ? costSol : null;
    for (const profit of this.#profits.set(publicKey, mint, cost)) this.#armProfit(profit, cost, this.#mints.get(mint)!);
  }

  /** Up to `limit` mints of which the market's state must be read; `takeRead` takes the answers. */
  needed(limit: number, nowMs: number): string[] {
    return this.#mints.needed(limit, nowMs);
  }

  takeRead(mint: string, read: PriceRead, nowMs: number, wallMs: number): void {
    this.#setTime(nowMs, wallMs);
    this.#mints.takeRead(mint, read, nowMs);
  }

  #meet(id: string, entry: Entry): void {
    this.metCount++;
    this.#met.set(id, entry);
  }

  #take(id: string, entry: Entry): Met {
    const none = { mint: '', value: null, slot: null, cause: null, ...noEvent };
    if (entry.kind === 'event') {
      const met = this.#events.take(entry);
      if (entry.met.length === 0) this.#met.delete(id);
      const { when } = entry.watch;
      if (when.kind === 'migration' || when.times === 1) this.#end(id, entry);
      return met;
    }
    if (entry.kind === 'level') {
      const { lane } = entry;
      const { prices, value, slot } = lane;
      const { mint } = prices;
      const tick = prices.view(lane.confirm).tick!;
      const { receivedUs, publishedUs } = tick;
      const price = priceAtBound(entry, prices.valueAt(tick, 'priceSol'));
      const met = { ...none, id, mint, value, slot, late: lane.isLate(entry), receivedUs, publishedUs, price };
      this.#end(id, this.#byId.get(id)!);
      return met;
    }
    if (entry.kind === 'profit') throw new TypeError('A watch of a profit is met through its price.');
    const { watch, dueMs } = entry;
    this.#end(id, entry);
    return { ...none, id, mint: watch.mint ?? '', late: this.#wallMs - Math.max(dueMs, watch.armedAtMs) > lateAfterMs };
  }

  #end(id: string, entry: Entry): void {
    this.#byId.delete(id);
    const wasMet = this.#met.delete(id);
    this.#changed.delete(id);
    if (entry.kind === 'event') this.#events.remove(entry);
    else if (entry.kind === 'timed') {
      if (!wasMet) this.#timed.remove(entry);
    } else if (entry.kind === 'profit') {
      this.#profits.remove(entry);
      const prices = this.#mints.get(entry.watch.mint!)!;
      if (entry.armed !== null) this.#mints.drop(entry.armed);
      this.#mints.release(prices);
    } else {
      this.#mints.drop(entry);
      this.#mints.release(entry.lane.prices);
    }
  }

  /** The average cost has changed, and with it the price that is watched. */
  #armProfit(profit: ProfitWatch, costSol: number | null, prices: MintPrices): void {
    const { watch, armed } = profit;
    profit.armed = null;
    if (costSol === null) this.#setReason(profit, 'position_unknown');
    else {
      const { when } = watch;
      const sign = when.op === '>=' ? -1 : 1;
      const lane = this.#lane(prices, watch, { metric: 'priceSol', sign, isTrailing: false });
      const key = priceAtProfit(when, costSol) * sign;
      // A price that is nearer is held from now on.
      if (armed === null || key > armed.key) profit.holdsFromMs = this.#holdsFrom(watch);
      profit.armed = armedOf(watch, lane, key, profit.holdsFromMs);
      profit.armed.reason = profit.reason;
    }
    if (armed?.isMet === true) this.#met.delete(watch.id);
    // The lane of the old price knows how long the new one is held.
    if (profit.armed !== null) this.#mints.arm(profit.armed, this.#nowMs);
    if (armed !== null) this.#mints.drop(armed);
    this.#mints.changed.add(prices);
  }

  #lane(prices: MintPrices, { confirm, holdMs, minDepthSol }: Watch, terms: Pick<LaneTerms, 'metric' | 'sign' | 'isTrailing'>) {
    return prices.lane(confirm, { ...terms, holdMs, minDepthSol }, this.#nowMs);
  }

  #holdsFrom({ holdMs }: Watch): number {
    return this.#nowMs + holdMs;
  }

  #setReason(entry: ProfitWatch | EventWatch, reason: string): void {
    if (entry.reason === reason) return;
    entry.reason = reason;
    this.#changed.set(entry.watch.id, reason);
  }

  #setTime(nowMs: number, wallMs: number): void {
    this.#nowMs = nowMs;
    this.#wallMs = wallMs;
  }
}

const noEvent = { eventId: null, position: null, receivedUs: null, publishedUs: null, price: null } as const;

/** All metrics but the progress of a curve change in proportion to the price. */
function priceAtBound({ key, lane }: ArmedLevel, priceSol: number | null): Met['price'] {
  const { value } = lane;
  const { metric, sign } = lane.terms;
  if (priceSol === null || value === null) return null;
  const boundSol = metric === 'curveProgress' || value === 0 ? null : (priceSol * key * sign) / value;
  return { op: sign === 1 ? '<=' : '>=', priceSol, boundSol };
}

/** One literal, because there are many: one that begins with a spread has a hidden class of its own. */
function armedOf(
  { id, armedAtMs }: Watch,
  lane: LevelLane,
  key: number,
  holdsFromMs: number,
  factor = 1,
  watermark: number | null = null,
): ArmedLevel {
  return {
    kind: 'level',
    id,
    lane,
    key,
    factor,
    watermark,
    isChanged: false,
    armedAtMs,
    holdsFromMs,
    isGone: false,
    isOut: false,
    isMet: false,
    reason: null,
  };
}
