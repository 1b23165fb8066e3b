import { newestPossibleSlot } from '@sluice/shared/solana/newest-slot.ts';
import { ChainSlot } from '@sluice/shared/solana/pubsub/chain-slot.ts';
import { majorityOf, reachedBy } from '@sluice/shared/solana/rpc/quorum/votes.ts';

/** Slots for which the time is remembered when the chain passed them. */
const maxRememberedSlots = 64;
/** Slots that an answer may be ahead of the reported ones: three to twelve seconds. */
const maxAheadSlots = 32;

export interface EndpointSlots {
  /** Newest slot reported by PubSub and over HTTP; null if it reports none now. */
  pubsub: number | null;
  http: number | null;
}

/** The newest slot of the chain, from the reports of all endpoints, and when the chain passed each recent slot. */
export class ChainView {
  readonly #chain = new ChainSlot();
  readonly #endpoints: EndpointSlots[];
  /** The endpoint reported a slot, or its HTTP request failed. Nothing waits for its first report any more. */
  readonly #isHeard: boolean[];
  readonly #isUnavailable: boolean[];
  #passed: { readonly slot: number; readonly atMs: number }[] = [];

  constructor(endpoints: number) {
    this.#endpoints = Array.from({ length: endpoints }, () => ({ pubsub: null, http: null }));
    this.#isHeard = this.#endpoints.map(() => false);
    this.#isUnavailable = this.#endpoints.map(() => false);
  }

  /** Whether the last HTTP request for its slot failed. */
  isUnavailable(endpoint: number): boolean {
    return this.#isUnavailable[endpoint] === true;
  }

  /** 0 until enough endpoints have reported a slot. If the others fail, one report is enough. */
  get slot(): number {
    return this.#chain.slot;
  }

  /** The newest slot that an answer may have; later ones are false. */
  get newestSlot(): number {
    return this.slot > 0 ? this.slot + maxAheadSlots : newestPossibleSlot;
  }

  report(endpoint: number, by: keyof EndpointSlots, slot: number | null): void {
    const known = this.#endpoints[endpoint];
    if (known === undefined) return;
    const wasHeard = this.#isHeard[endpoint] === true;
    this.#isHeard[endpoint] ||= slot !== null || by === 'http';
    if (by === 'http') this.#isUnavailable[endpoint] = slot === null;
    if (known[by] === slot && wasHeard) return;
    known[by] = slot;
    const before = this.slot;
    const newest = this.#endpoints.map(({ pubsub, http }) => Math.max(pubsub ?? 0, http ?? 0)).filter((one) => one > 0);
    this.#chain.judge(this.#countedOf(newest), performance.now());
    if (this.slot < before) this.#passed = [];
    if (this.slot === before) return;
    this.#passed.push({ slot: this.slot, atMs: performance.now() });
    if (this.#passed.length > maxRememberedSlots) this.#passed.shift();
  }

  /** With three or more endpoints, only a slot that a majority has reached counts. For the first slot, two of them are enough. */
  #countedOf(newest: readonly number[]): readonly number[] {
    const all = this.#endpoints.length;
    if (this.slot === 0 && newest.length < majorityOf(all) && this.#isHeard.includes(false)) return [];
    const isVoted = newest.length >= 3 || (all >= 3 && newest.length === 2 && this.slot === 0);
    return isVoted ? [reachedBy(newest)] : newest;
  }

  /** When the chain was first reported past this slot (`performance.now`); `Infinity` if it was not. */
  passedAtMs(slot: number): number {
    return this.#passed.find((one) => one.slot > slot)?.atMs ?? Number.POSITIVE_INFINITY;
  }
}
