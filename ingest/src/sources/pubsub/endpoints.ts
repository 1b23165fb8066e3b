import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { newestPossibleSlot } from '@sluice/shared/solana/newest-slot.ts';
import { ChainSlot, laggingSlots } from '@sluice/shared/solana/pubsub/chain-slot.ts';
import type { EndpointState, SocketCounts } from '@sluice/shared/solana/pubsub/rpc-socket.ts';
import type { SourceCounts, SourceHealth, SourceSink } from '../source.ts';

/** Slots that a report may be ahead of the chain, five minutes: an endpoint counts slots and sends transactions in one stream. */
const maxAheadSlots = 1_500;
const compareEveryMs = 1_000;

/** One endpoint of a source. */
export interface Endpoint {
  /** Its number among the endpoints of all sources. */
  readonly index: number;
  /** The part of its host name that may be shown. */
  readonly host: string | null;
  readonly state: EndpointState;
  /** The newest slot that it reported; 0 before the first. */
  readonly slot: number;
  readonly counts: SocketCounts;
  setState(state: EndpointState, reason: string): void;
}

/** Compares the endpoints of one source with each other: which slot the chain has reached, who lags, and whether any endpoint is up. */
export class Endpoints {
  readonly #name: string;
  readonly #log: Logger;
  #all: readonly Endpoint[] = [];
  #sink!: SourceSink;
  readonly #chain = new ChainSlot();
  #holes = 0;
  #blindPeriods = 0;
  #blindSinceSlot: number | null = null;
  /** When the newest slot was reported; null before the first. */
  #slotAtMs: number | null = null;
  /** Reports of newer slots are refused. */
  #maxSlot = newestPossibleSlot;

  /** `name`: of the source. */
  constructor(name: string, log: Logger) {
    this.#name = name;
    this.#log = log;
  }

  begin(endpoints: readonly Endpoint[], sink: SourceSink, signal: AbortSignal): void {
    this.#all = endpoints;
    this.#sink = sink;
    const timer = setInterval(() => this.#compare(), compareEveryMs);
    signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  }

  get #up(): readonly Endpoint[] {
    return this.#all.filter(({ state }) => state !== 'down');
  }

  health(counts: SourceCounts): SourceHealth {
    const { slot } = this.#chain;
    return {
      slot,
      slotAgeMs: this.#slotAtMs === null ? null : Math.round(performance.now() - this.#slotAtMs),
      endpointsUp: this.#up.length,
      holes: this.#holes,
      blindPeriods: this.#blindPeriods,
      endpoints: this.#all.map((one) => ({
        source: this.#name,
        index: one.index,
        host: one.host,
        state: one.state,
        slot: one.slot,
        slotsBehind: slot - one.slot,
        ...one.counts,
      })),
      counts: { ...counts },
    };
  }

  /** False for a slot that the chain cannot have reached. */
  isPossible(slot: number): boolean {
    return slot <= this.#maxSlot;
  }

  /** An endpoint reported a slot. */
  reported(slot: number, parent: number | null): void {
    this.#judge();
    if (this.isPossible(slot)) this.#sink.slot(slot, parent);
  }

  /** An endpoint reported a slot as confirmed. Returns false if the slot is far ahead: the endpoint may be right and the others may lag. */
  confirmed({ index, state }: Endpoint, slot: number): boolean {
    const reached = this.#chain.slot;
    if (reached > 0 && slot > reached + laggingSlots) return false;
    // A lagging endpoint would hold the others back.
    if (state !== 'lagging') this.#sink.confirmedSlot(index, slot);
    return true;
  }

  /** The source missed something of the slots after `fromSlot`, up to `toSlot`. */
  missed(fromSlot: number, toSlot: number): void {
    this.#holes += toSlot - fromSlot;
    this.#log.warn({ source: this.#name, fromSlot, toSlot }, 'slots_not_seen');
    this.#sink.resumed();
  }

  #compare(): void {
    this.#judge();
    const { slot } = this.#chain;
    for (const one of this.#up) {
      const behind = slot - one.slot;
      if (one.slot > 0) one.setState(behind > laggingSlots ? 'lagging' : 'up', `${behind} slots behind`);
    }
    const isBlind = this.#up.length === 0;
    if (isBlind && slot > 0 && this.#blindSinceSlot === null) {
      this.#blindSinceSlot = slot;
      this.#blindPeriods++;
      this.#log.error({ source: this.#name, slot }, 'no_endpoint_up');
    } else if (this.#blindSinceSlot !== null && !isBlind && slot > this.#blindSinceSlot) {
      this.missed(this.#blindSinceSlot, slot);
      this.#blindSinceSlot = null;
    }
  }

  #judge(): void {
    const reported = this.#up.flatMap(({ slot }) => (slot > 0 ? [slot] : []));
    const before = this.#chain.slot;
    const nowMs = performance.now();
    this.#chain.judge(reported, nowMs);
    const { slot } = this.#chain;
    if (slot !== before) this.#slotAtMs = nowMs;
    this.#maxSlot = slot > 0 ? slot + maxAheadSlots : newestPossibleSlot;
  }
}
