import type { BusStatus } from '@sluice/shared/bus/bus.ts';
import { newestPossibleSlot } from '@sluice/shared/solana/newest-slot.ts';
import type { PriceNullReason } from '@sluice/shared/wire/rest/fields.ts';
import type { PriceEvent } from '@sluice/shared/wire/events.ts';

/** An older SOL/USD price values nothing. */
const solUsdStaleAfterMs = 60_000;
/** How often the statuses of ingest are read, and how long an answer is good for where none follows. */
const statusEveryMs = 1_000;
const statusGoodForMs = 5_000;
/** A live entry shows that somebody publishes, also before the first status does. */
const liveForMs = 3_000;
/** Slots that a node may be ahead of what ingest last told, and how many more for each second since. */
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

/** Whether what this gateway knows of the market is of now: the link to the bus, ingest's statuses, the SOL/USD price. */
export class MarketHealth {
  /** Whether the chain is the simulated one; null while no ingest tells. */
  simulated: boolean | null = null;
  /** Times that the bus did not give the statuses. */
  failedPolls = 0;
  readonly #options: MarketHealthOptions;
  #ingest: 'leads' | 'blind' | 'none' = 'none';
  /** Who saw the chain last, and since when without a break; null before anybody did. */
  #sight: string | null = null;
  #onUnseen: () => void = () => undefined;
  #statusAtMs = Number.NEGATIVE_INFINITY;
  #liveAtMs = Number.NEGATIVE_INFINITY;
  #slot = 0;
  #slotAtMs = 0;
  /** When the leader heard of its newest slot, by what it told; null where it told none. */
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

  /** `listener` is called when the chain is seen again after a time in which it was not: what was known before may not hold. */
  whenUnseen(listener: () => void): void {
    this.#onUnseen = listener;
  }

  async poll(): Promise<void> {
    try {
      this.take(await this.#options.statuses(), Date.now());
    } catch {
      // The last ones hold until they are too old; the link's state says why there are no new ones.
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
    const told = leader ?? ingests[0];
    const slotAgeMs = told?.['slotAgeMs'];
    this.#newSlotAtMs = typeof slotAgeMs === 'number' ? nowMs - slotAgeMs : null;
    if (told === undefined) return;
    if (typeof told['simulated'] === 'boolean') this.simulated = told['simulated'];
    if (typeof told['slot'] === 'number' && told['slot'] > 0) {
      this.#slot = told['slot'];
      this.#slotAtMs = nowMs;
    }
    this.#takeSolUsd(told['solUsd'], nowMs);
  }

  /** A price event that just came, not from history. */
  noteLive({ solUsd, ts, simulated }: Pick<PriceEvent, 'solUsd' | 'ts' | 'simulated'>): void {
    if (simulated === true) this.simulated = true;
    if (solUsd !== null) this.#hear({ price: solUsd.price, slot: solUsd.slot, atMs: ts.received / 1000 - solUsd.ageMs });
  }

  /** Something was published just now. */
  noteEntry(nowMs: number): void {
    this.#liveAtMs = nowMs;
  }

  /** Why no price can be told now; null where one can. */
  fault(nowMs: number): Extract<PriceNullReason, 'bus_down' | 'no_ingest' | 'ingest_blind'> | null {
    if (!this.#options.linkUp()) return 'bus_down';
    const ingest = nowMs - this.#statusAtMs <= statusGoodForMs ? this.#ingest : 'none';
    if (ingest === 'leads') return null;
    if (ingest === 'blind') return 'ingest_blind';
    // Once there was a leader, what comes before the next one is told may be the first after a time that nobody saw.
    return this.#sight === null && nowMs - this.#liveAtMs <= liveForMs ? null : 'no_ingest';
  }

  solUsd(nowMs: number): SolUsdNow | null {
    if (this.#solUsd === null) return null;
    const ageMs = Math.max(0, Math.round(nowMs - this.#solUsd.atMs));
    return ageMs > solUsdStaleAfterMs ? null : { price: this.#solUsd.price, slot: this.#solUsd.slot, ageMs };
  }

  /** Newest slot that ingest told; 0 before the first. */
  get slot(): number {
    return this.#slot;
  }

  /** Time since ingest heard of a newer slot; null where none tells. */
  slotAgeMs(nowMs: number): number | null {
    return this.#newSlotAtMs === null ? null : Math.max(0, nowMs - this.#newSlotAtMs);
  }

  /** Newest slot that a node can be believed to stand at. */
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

  #takeSolUsd(told: unknown, nowMs: number): void {
    if (typeof told !== 'object' || told === null) return;
    const { price, slot, ageMs } = told as Readonly<Record<string, unknown>>;
    if (typeof price !== 'number' || typeof slot !== 'number' || typeof ageMs !== 'number') return;
    this.#hear({ price, slot, atMs: nowMs - ageMs });
  }

  #hear(heard: Heard): void {
    if (!(heard.price > 0) || !Number.isFinite(heard.price)) return;
    if (this.#solUsd === null || heard.atMs >= this.#solUsd.atMs) this.#solUsd = heard;
  }
}

/** Changes whenever an ingest may have missed something: another process, no node for a time, events that it had no room for. */
function sightOf({ instance, blindPeriods, endpoints, publisher }: BusStatus['value']): string {
  const connects = (Array.isArray(endpoints) ? (endpoints as readonly { readonly connects?: unknown }[]) : []).map((of) =>
    Number(of.connects),
  );
  const dropped = typeof publisher === 'object' && publisher !== null ? (publisher as { readonly dropped?: unknown }).dropped : 0;
  // Of several nodes one can go and come unnoticed: nothing is missed while another stays.
  return `${String(instance)}/${String(blindPeriods)}/${connects.length === 0 ? 0 : Math.min(...connects)}/${String(dropped)}`;
}
