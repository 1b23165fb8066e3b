import { systemClock, type Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { BlockCounts } from '../sources/blocks/block-fetcher.ts';
import type { ConfirmedBlock } from '../sources/blocks/confirmed-block.ts';
import type { Sighting, WholeSighting } from '../sources/sighting.ts';
import type { PublishableEvent } from '../publisher/outgoing.ts';
import { Confirmations } from './confirmations.ts';
import { Forks, type ForkCounts, type ForksParts } from './forks.ts';
import { GapFiller, type GapCounts, type GapFillerParts } from './gap-filler.ts';
import { Settlement, type SettleBy, type SettlementCounts } from './settlement.ts';
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
  readonly settlement: SettlementCounts & {
    /** Confirmed slots that wait for their block. */
    readonly pending: number;
    /** Blocks can be read. If not, slots are confirmed by votes alone, and events of replaced banks are not retracted. */
    readonly readsBlocks: boolean;
  };
}

export interface ContinuityParts extends Omit<GapFillerParts, 'ledger' | 'forks' | 'settlement' | 'clock'>, Pick<ForksParts, 'publish'> {
  readonly clock?: Clock;
  /** Time for settlement. */
  readonly blockClock?: Clock;
  /** How slots are settled: by blocks that are read for it, by those of a source, or by lists of transactions. */
  readonly settleBy?: SettleBy;
}

/** Makes one complete stream of what sources report: follows every slot, handles dead forks, and fills gaps. */
export class Continuity {
  readonly #ledger = new SlotLedger();
  readonly #confirmations = new Confirmations();
  readonly #clock: Clock;
  readonly #forks: Forks;
  readonly #filler: GapFiller;
  readonly #settlement: Settlement;
  readonly #genesis: string;
  readonly #blockCounts: BlockCounts;

  constructor(parts: ContinuityParts) {
    const { rpcs, pipeline, publisher, publish, genesis, blocks, clock = systemClock, log, signal } = parts;
    this.#clock = clock;
    this.#genesis = genesis;
    this.#blockCounts = blocks.counts;
    const ledger = this.#ledger;
    const settlement = (this.#settlement = new Settlement({
      rpcs,
      publisher,
      settleBy: parts.settleBy ?? 'blocks',
      onSettled: (slots) => this.#forks.settled(slots),
      clock: parts.blockClock ?? systemClock,
      log,
      signal,
    }));
    this.#forks = new Forks({
      ledger,
      publish,
      settle: (slots, hasEvents) => settlement.settle(slots, hasEvents),
      isPending: (slot) => settlement.isPending(slot),
      isKnown: (slot) => settlement.isKnown(slot),
      undecided: () => publisher.undecided,
      heldSlots: () => publisher.contents?.heldSlots ?? [],
      slotOf: (signature) => pipeline.dedupe.slotOf(signature),
      takeAsNew: (sighting) => {
        pipeline.dedupe.forget(sighting.signature);
        pipeline.dedupe.see(sighting.signature, sighting.slot);
        pipeline.takeNew(sighting);
      },
      abandon: (slot, lives) => pipeline.abandon(slot, lives),
      forget: (signature) => {
        pipeline.dedupe.forget(signature);
        this.#filler.forget(signature);
      },
      reread: (signature, slot, whole) => void pipeline.reread(signature, slot, whole),
      unsettle: (poolAddress) => pipeline.unsettle(poolAddress),
    });
    this.#filler = new GapFiller({ ...parts, clock, ledger, forks: this.#forks, settlement });
  }

  get stats(): ContinuityStats {
    const { confirmed, counts } = this.#ledger;
    const { watermark } = this.#filler;
    const { outvoted } = this.#confirmations;
    const forks = { ...this.#forks.counts };
    const gaps = { ...this.#filler.counts };
    const blocks = { ...this.#blockCounts };
    const { pending, readsBlocks } = this.#settlement;
    const settlement = { ...this.#settlement.counts, pending, readsBlocks };
    return { genesis: this.#genesis, watermark, confirmed, outvoted, slots: counts, gaps, blocks, forks, settlement };
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

  /** Sightings of a dead slot, and of a bank that was replaced, are ignored. */
  isDead(slot: number, signature: string): boolean {
    return this.#ledger.isDead(slot) || this.#settlement.isLacking(signature, slot);
  }

  /** Takes a sighting of a transaction in a slot other than its first. */
  seenElsewhere(sighting: Sighting): void {
    this.#forks.hold(sighting);
  }

  /** A source read the confirmed block of a slot, which settlement then needs not read. */
  block(slot: number, block: ConfirmedBlock): void {
    this.#settlement.offer(slot, block);
  }

  /** Settles the slots of events that were held back. To be called often. */
  recheck(): void {
    this.#forks.recheck();
  }

  /** A transaction was reported with other contents than before for the same slot. `found`: as the confirmed block shows it, if a source has it. */
  contested(signature: string, slot: number, found: WholeSighting | null): void {
    this.#forks.contest(signature, slot, found);
  }

  /** A source sees the chain again after it did not. */
  resumed(): void {
    this.#filler.beginNow();
  }
}
