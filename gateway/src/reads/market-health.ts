import type { BusStatus } from '@sluice/shared/bus/bus.ts';
import { systemClock, type Clock } from '@sluice/shared/runtime/clock/clock.ts';
import { isRecord } from '@sluice/shared/solana/encoding/json-forms.ts';
import { newestPossibleSlot } from '@sluice/shared/solana/newest-slot.ts';
import { valuedCoins, type Rates } from '@sluice/shared/wire/values/money.ts';
import { venueNames, type VenueName } from '@sluice/shared/wire/venues.ts';
import type { PriceNullReason } from '@sluice/shared/wire/rest/fields.ts';
import type { PriceEvent } from '@sluice/shared/wire/events/events.ts';

/** A SOL/USD price older than this is not used. */
const solUsdStaleAfterMs = 60_000;
/**
 * How often the statuses of ingest are read, and how long the last ones stay valid if no new ones can be read. Ingest sets them as often. Clients
 * learn from them how old the newest slot is.
 */
const statusEveryMs = 100;
const statusGoodForMs = 5_000;
/** Other processes write the reports. */
const maxSlotAgeMs = 1e12;
/** How long a live entry proves that an ingest process publishes, even without a status. */
const liveForMs = 3_000;
/** How many slots a node may be ahead of the slot that ingest last reported, and how many more for each second since. */
const maxAheadSlots = 256;
const slotsPerSecond = 10;

export interface SolUsdNow {
  readonly price: number;
  readonly slot: number;
  readonly ageMs: number;
}

interface SolUsdReport {
  readonly price: number;
  readonly slot: number;
  readonly atMs: number;
}

export interface MarketHealthOptions {
  readonly statuses: () => Promise<readonly BusStatus[]>;
  readonly linkUp: () => boolean;
  readonly clock?: Pick<Clock, 'steadyMs'>;
}

/** Whether this gateway's view of the market is current: the link to the bus, the statuses of ingest, the SOL/USD price. Ages are by the steady clock. */
export class MarketHealth {
  /** Whether the chain is the simulated one. Null: no ingest process reports it. */
  simulated: boolean | null = null;
  readonly #options: MarketHealthOptions;
  readonly #clock: Pick<Clock, 'steadyMs'>;
  #ingest: 'leads' | 'blind' | 'none' = 'none';
  /** Identifies the leading ingest process and its last interruption. Null: none has led so far. */
  #continuity: string | null = null;
  #onPossibleLoss: () => void = () => undefined;
  #statusAtMs = Number.NEGATIVE_INFINITY;
  #liveAtMs = Number.NEGATIVE_INFINITY;
  /** The newest slot that ingest reported. 0: none so far. */
  slot = 0;
  #slotAtMs = 0;
  /** Venues of which ingest cannot decode many events. Another list only if they are others. */
  changedVenues: readonly VenueName[] = [];
  /** Time since ingest last saw a newer slot, when it reported. Null: it reported none. */
  reportedSlotAgeMs: number | null = null;
  /** The last report of a slot, and when the slot was seen. A process that is stopped leaves its last report. */
  #slotReport = { text: '', seenAtMs: null as number | null };
  #solUsd: SolUsdReport | null = null;
  /** Prices of quote coins that are no money, as ingest reports them. Always the same map. */
  readonly coins = new Map<string, SolUsdNow | null>();
  #timer: NodeJS.Timeout | null = null;

  constructor(options: MarketHealthOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** Reads the statuses once, then again and again. */
  async start(): Promise<void> {
    await this.poll();
    this.#timer = setInterval(() => void this.poll(), statusEveryMs);
    this.#timer.unref();
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  /** Calls `listener` when ingest may have missed events of the chain. Data that was read before may then be outdated. */
  whenEventsMayBeMissing(listener: () => void): void {
    this.#onPossibleLoss = listener;
  }

  async poll(): Promise<void> {
    try {
      this.take(await this.#options.statuses());
    } catch {
      // The last statuses stay valid until they are too old. The state of the link says why there are no new ones.
    }
  }

  take(statuses: readonly BusStatus[]): void {
    const nowMs = this.#clock.steadyMs();
    const ingests = statuses.filter(({ name }) => name.startsWith('ingest:')).map(({ value }) => value);
    const leader = ingests.find((value) => value['leads'] === true);
    this.#statusAtMs = nowMs;
    const isBlind = (value: (typeof ingests)[number]): boolean => value['endpointsUp'] === 0;
    if (leader !== undefined) this.#ingest = isBlind(leader) ? 'blind' : 'leads';
    else this.#ingest = ingests.some(isBlind) ? 'blind' : 'none';
    this.#noteContinuity(ingests.filter((value) => value['leads'] === true && !isBlind(value)));
    const status = leader ?? ingests[0];
    const slotAgeMs = status?.['slotAgeMs'];
    this.reportedSlotAgeMs = typeof slotAgeMs === 'number' ? Math.min(maxSlotAgeMs, Math.max(0, slotAgeMs)) : null;
    if (status === undefined) return;
    const report = `${String(status['instance'])}/${String(status['uptimeMs'])}`;
    if (this.reportedSlotAgeMs !== null && report !== this.#slotReport.text) {
      this.#slotReport = { text: report, seenAtMs: nowMs - this.reportedSlotAgeMs };
    }
    const reported = status['changedVenues'];
    const changed = Array.isArray(reported) ? venueNames.filter((name) => reported.includes(name)) : [];
    if (changed.join() !== this.changedVenues.join()) this.changedVenues = changed;
    if (typeof status['simulated'] === 'boolean') this.simulated = status['simulated'];
    if (typeof status['slot'] === 'number' && status['slot'] > 0) {
      this.slot = status['slot'];
      this.#slotAtMs = nowMs;
    }
    const solUsd = priceIn(status['solUsd']);
    if (solUsd !== null) this.#noteSolUsd({ price: solUsd.price, slot: solUsd.slot, atMs: nowMs - solUsd.ageMs });
    this.#takeCoins(status['coins']);
  }

  /** Call it with each live price event. */
  noteLive({ solUsd, simulated }: Pick<PriceEvent, 'solUsd' | 'simulated'>): void {
    if (simulated === true) this.simulated = true;
    if (solUsd !== null) this.#noteSolUsd({ price: solUsd.price, slot: solUsd.slot, atMs: this.#clock.steadyMs() - solUsd.ageMs });
  }

  /** Call it for each live entry. */
  noteEntry(): void {
    this.#liveAtMs = this.#clock.steadyMs();
  }

  /** Why no price can be given now. Null: one can. */
  fault(): Extract<PriceNullReason, 'bus_down' | 'no_ingest' | 'ingest_blind'> | null {
    if (!this.#options.linkUp()) return 'bus_down';
    const nowMs = this.#clock.steadyMs();
    const ingest = nowMs - this.#statusAtMs <= statusGoodForMs ? this.#ingest : 'none';
    if (ingest === 'leads') return null;
    if (ingest === 'blind') return 'ingest_blind';
    // A live entry is accepted as a proof only before the first leader is known. Later, ingest may have missed events before the entry.
    return this.#continuity === null && nowMs - this.#liveAtMs <= liveForMs ? null : 'no_ingest';
  }

  solUsd(): SolUsdNow | null {
    if (this.#solUsd === null) return null;
    const ageMs = Math.max(0, Math.round(this.#clock.steadyMs() - this.#solUsd.atMs));
    return ageMs > solUsdStaleAfterMs ? null : { price: this.#solUsd.price, slot: this.#solUsd.slot, ageMs };
  }

  /** Time since ingest last saw a newer slot. Null: none has reported it so far. */
  slotAgeMs(): number | null {
    const { seenAtMs } = this.#slotReport;
    return seenAtMs === null ? null : Math.round(this.#clock.steadyMs() - seenAtMs);
  }

  /** The newest slot that a node can plausibly have reached. */
  newestSlot(): number {
    if (this.slot === 0) return newestPossibleSlot;
    return this.slot + maxAheadSlots + Math.ceil(((this.#clock.steadyMs() - this.#slotAtMs) / 1000) * slotsPerSecond);
  }

  #noteContinuity(leaders: readonly BusStatus['value'][]): void {
    if (leaders.length === 0) return;
    const continuity = leaders.map(continuityOf).toSorted().join();
    const isOther = this.#continuity !== null && this.#continuity !== continuity;
    this.#continuity = continuity;
    if (isOther) this.#onPossibleLoss();
  }

  #takeCoins(reported: unknown): void {
    for (const { mint, rate } of Array.isArray(reported) ? reported.filter(isRecord) : []) {
      if (typeof mint === 'string' && valuedCoins.has(mint)) this.coins.set(mint, priceIn(rate));
    }
  }

  /** What quote coins are worth now. */
  rates(): Rates {
    return { solUsd: this.solUsd()?.price ?? null, coins: this.coins };
  }

  #noteSolUsd(report: SolUsdReport): void {
    if (!(report.price > 0) || !Number.isFinite(report.price)) return;
    if (this.#solUsd === null || report.atMs >= this.#solUsd.atMs) this.#solUsd = report;
  }
}

function priceIn(value: unknown): SolUsdNow | null {
  if (!isRecord(value)) return null;
  const { price, slot, ageMs } = value;
  if (typeof price !== 'number' || typeof slot !== 'number' || typeof ageMs !== 'number') return null;
  return price > 0 && Number.isFinite(price) ? { price, slot, ageMs } : null;
}

/** Changes whenever ingest may have missed something: another process leads, no node answered for a time, or events were dropped. */
function continuityOf({ instance, blindPeriods, endpoints, publisher }: BusStatus['value']): string {
  const connects = (Array.isArray(endpoints) ? (endpoints as readonly { readonly connects?: unknown }[]) : []).map((of) =>
    Number(of.connects),
  );
  const dropped = typeof publisher === 'object' && publisher !== null ? (publisher as { readonly dropped?: unknown }).dropped : 0;
  // Nothing is missed while at least one node stays connected, so only the smallest number of connects matters.
  return `${String(instance)}/${String(blindPeriods)}/${connects.length === 0 ? 0 : Math.min(...connects)}/${String(dropped)}`;
}
