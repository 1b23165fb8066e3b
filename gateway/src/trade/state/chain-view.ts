import { newestPossibleSlot } from '@sluice/shared/solana/newest-slot.ts';
import { ChainSlot } from '@sluice/shared/solana/pubsub/chain-slot.ts';

/** Slots of which it is remembered when the chain passed them; of older ones, that it did so no later than the oldest. */
const maxRememberedSlots = 64;
/** Slots that an answer may be ahead of what was told so far, three to twelve seconds. */
const maxAheadSlots = 32;

export interface EndpointSlots {
  /** By its PubSub, and by its HTTP; null where it tells none now. */
  pubsub: number | null;
  http: number | null;
}

/** Of three or more, the one that is ahead of all others does not count: how far the chain is, two must tell. */
function reached(told: readonly number[]): readonly number[] {
  return told.length < 3 ? told : told.toSorted((a, b) => a - b).slice(0, -1);
}

/** How far the chain is, by what all endpoints tell of it, and when it passed each of the last slots. */
export class ChainView {
  readonly #chain = new ChainSlot();
  readonly #endpoints: EndpointSlots[];
  #passed: { readonly slot: number; readonly atMs: number }[] = [];

  constructor(endpoints: number) {
    this.#endpoints = Array.from({ length: endpoints }, () => ({ pubsub: null, http: null }));
  }

  /** 0 before the first was told. */
  get slot(): number {
    return this.#chain.slot;
  }

  /** A slot beyond it is not believed. */
  get newestSlot(): number {
    return this.slot > 0 ? this.slot + maxAheadSlots : newestPossibleSlot(Date.now());
  }

  tell(endpoint: number, by: keyof EndpointSlots, slot: number | null): void {
    const told = this.#endpoints[endpoint];
    if (told === undefined || told[by] === slot) return;
    told[by] = slot;
    const before = this.slot;
    const newest = this.#endpoints.map(({ pubsub, http }) => Math.max(pubsub ?? 0, http ?? 0)).filter((one) => one > 0);
    this.#chain.judge(reached(newest), performance.now());
    if (this.slot < before) this.#passed = [];
    if (this.slot === before) return;
    this.#passed.push({ slot: this.slot, atMs: Date.now() });
    if (this.#passed.length > maxRememberedSlots) this.#passed.shift();
  }

  /** When the chain was first told to be past this slot (Unix milliseconds); `Infinity` where it was not. */
  passedAtMs(slot: number): number {
    return this.#passed.find((one) => one.slot > slot)?.atMs ?? Number.POSITIVE_INFINITY;
  }
}
