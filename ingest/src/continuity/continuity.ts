import { systemClock, type Clock } from '@sluice/shared/clock/clock.ts';
import type { BlockCounts } from '../sources/blocks/block-fetcher.ts';
import type { Sighting } from '../sources/sighting.ts';
import type { PublishableEvent } from '../publisher/outgoing.ts';
import { Confirmations } from './confirmations.ts';
import { Forks, type ForkCounts, type ForksParts } from './forks.ts';
import { GapFiller, type GapCounts, type GapFillerParts } from './gap-filler.ts';
import { SlotLedger, type SlotCounts } from './slot-ledger.ts';

export interface ContinuityStats {
  /** Genesis hash of the chain. */
  readonly genesis: string;
  /** The highest slot up to which everything is known to be complete, and the newest confirmed one; 0 before any. */
  readonly watermark: number;
  readonly confirmed: number;
  /** Slots that one endpoint confirmed and too few others. */
  readonly outvoted: number;
  /** Slots by their state. */
  readonly slots: SlotCounts;
  readonly gaps: GapCounts;
  readonly blocks: BlockCounts;
  readonly forks: ForkCounts;
}

export interface ContinuityParts extends Omit<GapFillerParts, 'ledger' | 'forks' | 'clock'>, Pick<ForksParts, 'publish'> {
  readonly clock?: Clock;
}

/** Makes one complete stream of what sources report: follows every slot, handles dead forks, and fills gaps. */
export class Continuity {
  readonly #ledger = new SlotLedger();
  readonly #confirmations = new Confirmations();
  readonly #clock: Clock;
  readonly #forks: Forks;
  readonly #filler: GapFiller;
  readonly #genesis: string;
  readonly #blockCounts: BlockCounts;

  constructor(parts: ContinuityParts) {
    const { pipeline, publish, genesis, blocks, clock = systemClock } = parts;
    this.#clock = clock;
    this.#genesis = genesis;
    this.#blockCounts = blocks.counts;
    const ledger = this.#ledger;
    this.#forks = new Forks({
      ledger,
      publish,
      slotOf: (signature) => pipeline.dedupe.slotOf(signature),
      takeAsNew: (sighting) => {
        pipeline.dedupe.forget(sighting.signature);
        pipeline.dedupe.see(sighting.signature, sighting.slot);
        pipeline.takeNew(sighting);
      },
      abandon: (slot) => pipeline.abandon(slot),
      unsettle: (poolAddress) => pipeline.unsettle(poolAddress),
    });
    this.#filler = new GapFiller({ ...parts, clock, ledger, forks: this.#forks });
  }

  get stats(): ContinuityStats {
    const { confirmed, counts } = this.#ledger;
    const { watermark } = this.#filler;
    const { outvoted } = this.#confirmations;
    const forks = { ...this.#forks.counts };
    const gaps = { ...this.#filler.counts };
    const blocks = { ...this.#blockCounts };
    return { genesis: this.#genesis, watermark, confirmed, outvoted, slots: counts, gaps, blocks, forks };
  }

  /** To be called before any subscription. */
  begin(): void {
    this.#filler.begin();
  }

  run(): Promise<void> {
    return this.#filler.run();
  }

  /** Takes an event from the pipeline. */
  publish(event: PublishableEvent): void {
    this.#filler.note(event);
    this.#forks.publish(event);
  }

  /** A source reported a slot. */
  slot(slot: number, parent: number | null): void {
    this.#ledger.report(slot, parent);
  }

  /** An endpoint confirmed a slot. */
  confirmed(endpoint: number, slot: number): void {
    if (this.#confirmations.take(endpoint, slot, this.#clock.steadyMs())) this.#forks.apply(this.#ledger.confirm(slot));
  }

  /** Sightings of a dead slot are ignored. */
  isDead(slot: number): boolean {
    return this.#ledger.isDead(slot);
  }

  /** Takes a sighting of a transaction in a slot other than its first. */
  seenElsewhere(sighting: Sighting): void {
    this.#forks.hold(sighting);
  }

  /** A source sees the chain again after it did not. */
  resumed(): void {
    this.#filler.beginNow();
  }
}
