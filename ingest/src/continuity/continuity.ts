import type { BlockCounts } from '../sources/blocks/block-fetcher.ts';
import type { Sighting } from '../sources/sighting.ts';
import type { PublishableEvent } from '../publisher/outgoing.ts';
import { Confirmations } from './confirmations.ts';
import { Forks, type ForkCounts, type ForksParts } from './forks.ts';
import { GapFiller, type GapCounts, type GapFillerParts } from './gap-filler.ts';
import { SlotLedger, type SlotCounts } from './slot-ledger.ts';

export interface ContinuityStats {
  /** Genesis hash of the chain that all of this is about. */
  readonly genesis: string;
  /** The highest slot up to which everything is known to be complete, and the newest confirmed one; 0 before any. */
  readonly watermark: number;
  readonly confirmed: number;
  /** Slots that an endpoint confirmed and too few others ever did. */
  readonly outvoted: number;
  /** By what became of them. */
  readonly slots: SlotCounts;
  readonly gaps: GapCounts;
  readonly blocks: BlockCounts;
  readonly forks: ForkCounts;
}

export type ContinuityParts = Omit<GapFillerParts, 'ledger' | 'forks'> & Pick<ForksParts, 'publish'>;

/** Makes one unbroken stream of what sources report: it follows every slot, dead forks, and what was not seen. */
export class Continuity {
  readonly #ledger = new SlotLedger();
  readonly #confirmations = new Confirmations();
  readonly #forks: Forks;
  readonly #filler: GapFiller;
  readonly #genesis: string;
  readonly #blockCounts: BlockCounts;

  constructor(parts: ContinuityParts) {
    const { pipeline, publish, genesis, blocks } = parts;
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
    this.#filler = new GapFiller({ ...parts, ledger, forks: this.#forks });
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

  /** To be called before anything is subscribed to. */
  begin(): void {
    this.#filler.begin();
  }

  run(): Promise<void> {
    return this.#filler.run();
  }

  /** An event that the pipeline made. */
  publish(event: PublishableEvent): void {
    this.#filler.note(event);
    this.#forks.publish(event);
  }

  /** An endpoint began to work on a slot. */
  slot(slot: number, parent: number | null): void {
    this.#ledger.told(slot, parent);
  }

  /** An endpoint confirmed a slot. */
  confirmed(endpoint: number, slot: number): void {
    if (this.#confirmations.take(endpoint, slot, performance.now())) this.#forks.apply(this.#ledger.confirm(slot));
  }

  /** Sightings of a dead slot are of no interest. */
  isDead(slot: number): boolean {
    return this.#ledger.isDead(slot);
  }

  /** A transaction was seen in another slot than at first. */
  seenElsewhere(sighting: Sighting): void {
    this.#forks.hold(sighting);
  }

  /** A source sees the chain again after it did not. */
  resumed(): void {
    this.#filler.look();
  }
}
