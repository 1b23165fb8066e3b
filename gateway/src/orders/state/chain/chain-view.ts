import { newestPossibleSlot } from '@sluice/shared/solana/newest-slot.ts';
import { ChainSlot } from '@sluice/shared/solana/pubsub/chain-slot.ts';
import { majorityOf, reachedBy } from '@sluice/shared/solana/quorum/votes.ts';

/** Slots of which it is remembered when the chain passed them; of older ones, that it did so no later than the oldest. */
const maxRememberedSlots = 64;
/** Slots that an answer may be ahead of what was told so far, three to twelve seconds. */
const maxAheadSlots = 32;

export interface EndpointSlots {
  /** By its PubSub, and by its HTTP; null where it tells none now. */
  pubsub: number | null;
  http: number | null;
}

/** How far the chain is, by what all endpoints tell of it, and when it passed each of the last slots. */
export class ChainView {
  readonly #chain = new ChainSlot();
  readonly #endpoints: EndpointSlots[];
  /** It told a slot, or its HTTP gave none: it is waited for no more. */
  readonly #isHeard: boolean[];
  readonly #isAway: boolean[];
  #passed: { readonly slot: number; readonly atMs: number }[] = [];

  constructor(endpoints: number) {
    this.#endpoints = Array.from({ length: endpoints }, () => ({ pubsub: null, http: null }));
    this.#isHeard = this.#endpoints.map(() => false);
    this.#isAway = this.#endpoints.map(() => false);
  }

  /** Whether the last question for its slot over HTTP failed. */
  isAway(endpoint: number): boolean {
    return this.#isAway[endpoint] === true;
  }

  /** 0 before so many have told one as must agree; where the others give none, before the first. */
  get slot(): number {
    return this.#chain.slot;
  }

  /** A slot beyond it is not believed. */
  get newestSlot(): number {
    return this.slot > 0 ? this.slot + maxAheadSlots : newestPossibleSlot(Date.now());
  }

  tell(endpoint: number, by: keyof EndpointSlots, slot: number | null): void {
    const told = this.#endpoints[endpoint];
    if (told === undefined) return;
    const wasHeard = this.#isHeard[endpoint] === true;
    this.#isHeard[endpoint] ||= slot !== null || by === 'http';
    if (by === 'http') this.#isAway[endpoint] = slot === null;
    if (told[by] === slot && wasHeard) return;
    told[by] = slot;
    const before = this.slot;
    const newest = this.#endpoints.map(({ pubsub, http }) => Math.max(pubsub ?? 0, http ?? 0)).filter((one) => one > 0);
    this.#chain.judge(this.#countedOf(newest), performance.now());
    if (this.slot < before) this.#passed = [];
    if (this.slot === before) return;
    this.#passed.push({ slot: this.slot, atMs: Date.now() });
    if (this.#passed.length > maxRememberedSlots) this.#passed.shift();
  }

  /** Of three or more endpoints: as far as a majority has come, and at first as far as both of two have. */
  #countedOf(newest: readonly number[]): readonly number[] {
    const all = this.#endpoints.length;
    if (this.slot === 0 && newest.length < majorityOf(all) && this.#isHeard.includes(false)) return [];
    const isVoted = newest.length >= 3 || (all >= 3 && newest.length === 2 && this.slot === 0);
    return isVoted ? [reachedBy(newest)] : newest;
  }

  /** When the chain was first told to be past this slot (Unix milliseconds); `Infinity` where it was not. */
  passedAtMs(slot: number): number {
    return this.#passed.find((one) => one.slot > slot)?.atMs ?? Number.POSITIVE_INFINITY;
  }
}
