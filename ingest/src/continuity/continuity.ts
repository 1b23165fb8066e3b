import type { TransactionLogs } from '../sources/source.ts';
import type { PublishableEvent } from '../publisher/publisher.ts';
import { Forks, type ForkCounts, type ForksParts } from './forks.ts';
import { GapFiller, type GapCounts, type GapFillerParts } from './gap-filler.ts';
import { SlotLedger, type SlotCounts } from './slot-ledger.ts';

export interface ContinuityStats {
  /** The highest slot up to which everything is known to be complete, and the newest confirmed one; 0 before any. */
  readonly watermark: number;
  readonly confirmed: number;
  /** By what became of them. */
  readonly slots: SlotCounts;
  readonly gaps: GapCounts;
  /** `kept`: events whose slot is not known to live yet. */
  readonly forks: ForkCounts & { readonly kept: number };
}

export type ContinuityParts = Omit<GapFillerParts, 'ledger' | 'forks'> & Pick<ForksParts, 'publish'>;

/** What makes one unbroken stream of what endpoints tell: the fate of every slot, dead forks, and what was not seen. */
export class Continuity {
  readonly #ledger = new SlotLedger();
  readonly #forks: Forks;
  readonly #filler: GapFiller;

  constructor(parts: ContinuityParts) {
    const { pipeline, publish } = parts;
    const ledger = this.#ledger;
    this.#forks = new Forks({
      ledger,
      publish,
      retell: (seen) => {
        pipeline.dedupe.see(seen.signature, seen.slot);
        pipeline.takeNew(seen);
      },
      unsettle: (poolAddress) => pipeline.unsettle(poolAddress),
      forget: (signature) => pipeline.dedupe.forget(signature),
    });
    this.#filler = new GapFiller({ ...parts, ledger, forks: this.#forks });
  }

  get stats(): ContinuityStats {
    const { watermark, confirmed, counts } = this.#ledger;
    const { kept } = this.#forks;
    return { watermark, confirmed, slots: counts, gaps: { ...this.#filler.counts }, forks: { ...this.#forks.counts, kept } };
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
  confirmed(slot: number): void {
    this.#forks.apply(this.#ledger.confirm(slot));
  }

  /** A transaction was told for another slot than at first. */
  again(seen: TransactionLogs, firstSlot: number): void {
    this.#forks.hold(seen, firstSlot);
  }

  /** The chain is seen again after it was not. */
  sighted(): void {
    this.#filler.look();
  }
}
