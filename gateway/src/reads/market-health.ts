import type { BusStatus } from '@sluice/shared/bus/bus.ts';
import { newestPossibleSlot } from '@sluice/shared/solana/newest-slot.ts';
import type { PriceNullReason } from '@sluice/shared/wire/rest/fields.ts';
import type { PriceEvent } from '@sluice/shared/wire/events.ts';

/** A SOL/USD price older than this is not used. */
const solUsdStaleAfterMs = 60_000;
/** How often the statuses of ingest are read, and how long the last ones stay valid if no new ones can be read. */
const statusEveryMs = 1_000;
const statusGoodForMs = 5_000;
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

interface Heard {
  readonly price: number;
  readonly slot: number;
  readonly atMs: number;
}

export interface MarketHealthOptions {
  readonly statuses: () => Promise<readonly BusStatus[]>;
  readonly linkUp: () => boolean;
}

/** Whether this gateway's view of the market is current: the link to the bus, the statuses of ingest, the SOL/USD price. */
export class MarketHealth {
  /** Whether the chain is the simulated one. Null: no ingest process reports it. */
  simulated: boolean | null = null;
  /** How often the statuses could not be read from the bus. */
  failedPolls = 0;
  readonly #options: MarketHealthOptions;
  #ingest: 'leads' | 'blind' | 'none' = 'none';
  /** The ingest process that last saw the chain, and since when without a break. Null: none so far. */
  #sight: string | null = null;
  #onUnseen: () => void = () => undefined;
  #statusAtMs = Number.NEGATIVE_INFINITY;
  #liveAtMs = Number.NEGATIVE_INFINITY;
  #slot = 0;
  #slotAtMs = 0;
  /** When the leading ingest process saw its newest slot, as it reported. Null: it reported none. */
  #newSlotAtMs: number | null = null;
  #solUsd: Heard | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor(options: MarketHealthOptions) {
    this.#options = options;
  }

  /** Reads the statuses once, then every second. */
  async start(): Promise<void> {
    await this.poll();
    this.#timer = setInterval(() => void this.poll(), statusEveryMs);
    this.#timer.unref();
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  /** Calls `listener` when ingest sees the chain again after an interruption. Earlier knowledge may then be outdated. */
  whenUnseen(listener: () => void): void {
    this.#onUnseen = listener;
  }

  async poll(): Promise<void> {
    try {
      this.take(await this.#options.statuses(), Date.now());
    } catch {
      // The last statuses stay valid until they are too old. The state of the link says why there are no new ones.
      this.failedPolls++;
    }
  }

  take(statuses: readonly BusStatus[], nowMs: number): void {
    const ingests = statuses.filter(({ name }) => name.startsWith('ingest:')).map(({ value }) => value);
    const leader = ingests.find((value) => value['leads'] === true);
    this.#statusAtMs = nowMs;
    const isBlind = (value: (typeof ingests)[number]): boolean => value['endpointsUp'] === 0;
    if (leader !== undefined) this.#ingest = isBlind(leader) ? 'blind' : 'leads';
    else this.#ingest = ingests.some(isBlind) ? 'blind' : 'none';
    this.#noteSight(ingests.filter((value) => value['leads'] === true && !isBlind(value)));
    const status = leader ?? ingests[0];
    const slotAgeMs = status?.['slotAgeMs'];
    this.#newSlotAtMs = typeof slotAgeMs === 'number' ? nowMs - slotAgeMs : null;
    if (status === undefined) return;
    if (typeof status['simulated'] === 'boolean') this.simulated = status['simulated'];
    if (typeof status['slot'] === 'number' && status['slot'] > 0) {
      this.#slot = status['slot'];
      this.#slotAtMs = nowMs;
    }
    this.#takeSolUsd(status['solUsd'], nowMs);
  }

  /** Call it with each live price event. */
  noteLive({ solUsd, ts, simulated }: Pick<PriceEvent, 'solUsd' | 'ts' | 'simulated'>): void {
    if (simulated === true) this.simulated = true;
    if (solUsd !== null) this.#hear({ price: solUsd.price, slot: solUsd.slot, atMs: ts.received / 1000 - solUsd.ageMs });
  }

  /** Call it for each live entry. */
  noteEntry(nowMs: number): void {
    this.#liveAtMs = nowMs;
  }

  /** Why no price can be given now. Null: one can. */
  fault(nowMs: number): Extract<PriceNullReason, 'bus_down' | 'no_ingest' | 'ingest_blind'> | null {
    if (!this.#options.linkUp()) return 'bus_down';
    const ingest = nowMs - this.#statusAtMs <= statusGoodForMs ? this.#ingest : 'none';
    if (ingest === 'leads') return null;
    if (ingest === 'blind') return 'ingest_blind';
    // After the first leader, a live entry proves nothing until another leader is reported: ingest may have missed events before it.
    return this.#sight === null && nowMs - this.#liveAtMs <= liveForMs ? null : 'no_ingest';
  }

  solUsd(nowMs: number): SolUsdNow | null {
    if (this.#solUsd === null) return null;
    const ageMs = Math.max(0, Math.round(nowMs - this.#solUsd.atMs));
    return ageMs > solUsdStaleAfterMs ? null : { price: this.#solUsd.price, slot: this.#solUsd.slot, ageMs };
  }

  /** The newest slot that ingest reported. 0: none so far. */
  get slot(): number {
    return this.#slot;
  }

  /** Time since ingest last saw a newer slot. Null: none reports it. */
  slotAgeMs(nowMs: number): number | null {
    return this.#newSlotAtMs === null ? null : Math.max(0, nowMs - this.#newSlotAtMs);
  }

  /** The newest slot that a node can plausibly have reached. */
  newestSlot(nowMs: number): number {
    if (this.#slot === 0) return newestPossibleSlot(nowMs);
    return this.#slot + maxAheadSlots + Math.ceil((Math.max(0, nowMs - this.#slotAtMs) / 1000) * slotsPerSecond);
  }

  #noteSight(leaders: readonly BusStatus['value'][]): void {
    if (leaders.length === 0) return;
    const sight = leaders.map(sightOf).toSorted().join();
    const isOther = this.#sight !== null && this.#sight !== sight;
    this.#sight = sight;
    if (isOther) this.#onUnseen();
  }

  #takeSolUsd(value: unknown, nowMs: number): void {
    if (typeof value !== 'object' || value === null) return;
    const { price, slot, ageMs } = value as Readonly<Record<string, unknown>>;
    if (typeof price !== 'number' || typeof slot !== 'number' || typeof ageMs !== 'number') return;
    this.#hear({ price, slot, atMs: nowMs - ageMs });
  }

  #hear(heard: Heard): void {
    if (!(heard.price > 0) || !Number.isFinite(heard.price)) return;
    if (this.#solUsd === null || heard.atMs >= this.#solUsd.atMs) this.#solUsd = heard;
  }
}

/** Changes whenever ingest may have missed something: another process leads, no node answered for a time, or events were dropped. */
function sightOf({ instance, blindPeriods, endpoints, publisher }: BusStatus['value']): string {
  const connects = (Array.isArray(endpoints) ? (endpoints as readonly { readonly connects?: unknown }[]) : []).map((of) =>
    Number(of.connects),
  );
  const dropped = typeof publisher === 'object' && publisher !== null ? (publisher as { readonly dropped?: unknown }).dropped : 0;
  // While one node stays connected nothing is missed, so a reconnection of another does not matter.
  return `${String(instance)}/${String(blindPeriods)}/${connects.length === 0 ? 0 : Math.min(...connects)}/${String(dropped)}`;
}
