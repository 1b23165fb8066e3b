import { solPricePool } from '@sluice/venues/registry.ts';
import { Recent } from '@sluice/shared/collections/recent.ts';
import type { Continuity } from './continuity/continuity.ts';
import type { Pipeline } from './pipeline/pipeline.ts';
import type { SolUsdFeed } from './pipeline/sol-usd.ts';
import type { AccountState, Sighting } from './sources/sighting.ts';
import type { ConfirmedBlock } from './sources/blocks/confirmed-block.ts';
import type { SourceSink } from './sources/source.ts';

/** Transactions whose contents are remembered: a minute of the busiest programs. */
const maxDigests = 20_000;

export interface SightingCounts {
  /** Successful transactions seen for the first time. */
  new: number;
  /** Seen before by another endpoint, subscription or source. */
  repeated: number;
  /** Seen before, but not completely or without any event: decoded once more. */
  decodedAgain: number;
  /** Seen before in another slot: it landed on two forks, or an endpoint is wrong. */
  otherSlot: number;
  /** Seen before in the same slot, with other contents. */
  otherContents: number;
  /** Of a slot that is known to have died, or of a bank of the slot that was replaced. */
  deadSlot: number;
}

export interface RouterParts {
  readonly pipeline: Pick<Pipeline, 'confirmed' | 'dedupe' | 'isOpen' | 'takeNew' | 'takeAgain' | 'takeAccount'>;
  readonly continuity: Pick<Continuity, 'slot' | 'block' | 'confirmed' | 'contested' | 'isDead' | 'seenElsewhere' | 'resumed'>;
  readonly solUsd: Pick<SolUsdFeed, 'take'>;
}

/** Passes on what sources report: new sightings to the pipeline, slots to continuity, accounts to the pipeline or the SOL price. */
export class SightingRouter implements SourceSink {
  readonly counts: SightingCounts = { new: 0, repeated: 0, decodedAgain: 0, otherSlot: 0, otherContents: 0, deadSlot: 0 };
  /** By signature: the slot and the digest of the contents that were reported first. */
  readonly #digests = new Recent<{ readonly slot: number; readonly digest: number }>(maxDigests);
  readonly #parts: RouterParts;

  constructor(parts: RouterParts) {
    this.#parts = parts;
  }

  isRepeat(signature: string, slot: number, digest: number | null): boolean {
    const { dedupe } = this.#parts.pipeline;
    if (digest !== null) this.#compare(signature, slot, digest);
    if (dedupe.slotOf(signature) !== slot || this.#parts.pipeline.isOpen(signature)) return false;
    this.counts.repeated++;
    return true;
  }

  /** Two banks of one slot may execute a transaction in another order. */
  #compare(signature: string, slot: number, digest: number): void {
    const known = this.#digests.peek(signature);
    if (known?.slot !== slot) this.#digests.set(signature, { slot, digest });
    else if (known.digest !== digest) {
      this.counts.otherContents++;
      this.#parts.continuity.contested(signature, slot);
    }
  }

  sighting(sighting: Sighting): void {
    const { pipeline, continuity } = this.#parts;
    const { signature, slot } = sighting;
    if (continuity.isDead(slot, signature)) {
      this.counts.deadSlot++;
      return;
    }
    const firstSlot = pipeline.dedupe.see(signature, slot);
    if (firstSlot === null) {
      this.counts.new++;
      pipeline.takeNew(sighting);
    } else if (firstSlot !== slot) {
      this.counts.otherSlot++;
      continuity.seenElsewhere(sighting);
    } else if (pipeline.isOpen(signature)) {
      this.counts.decodedAgain++;
      pipeline.takeAgain(sighting);
    } else this.counts.repeated++;
  }

  account(state: AccountState): void {
    if (state.address === solPricePool.address) this.#parts.solUsd.take(state);
    else this.#parts.pipeline.takeAccount(state);
  }

  slot(slot: number, parent: number | null): void {
    this.#parts.continuity.slot(slot, parent);
  }

  confirmedSlot(endpoint: number, slot: number): void {
    this.#parts.continuity.confirmed(endpoint, slot);
    this.#parts.pipeline.confirmed(slot);
  }

  block(slot: number, block: ConfirmedBlock): void {
    this.#parts.continuity.block(slot, block);
  }

  resumed(): void {
    this.#parts.continuity.resumed();
  }
}
