import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { Publisher } from '../publisher/publisher.ts';
import type { Settlement } from './settlement.ts';
import type { Forks } from './forks.ts';
import { Unreachable } from './listing.ts';
import type { SlotLedger } from './slot-ledger.ts';

/** If a slot cannot be decided, it is reported as lost once it is this many slots (about 13 seconds) behind the tip. */
const giveUpAfterSlots = 64;

export interface SlotJudgeParts {
  readonly publisher: Publisher;
  readonly ledger: SlotLedger;
  readonly forks: Forks;
  readonly settlement: Pick<Settlement, 'find'>;
  readonly log: Logger;
}

/**
 * While this process leads, decides every slot that readers of the log wait for, even if another process published its events: from what the ledger
 * knows, then from the block of the slot itself. A slot that cannot be decided in time is reported as lost. So a reader waits for a slot at most
 * until the next round after its confirmation.
 */
export class SlotJudge {
  readonly #parts: SlotJudgeParts;

  constructor(parts: SlotJudgeParts) {
    this.#parts = parts;
  }

  /** Publishes at once what is known of slots that the previous leader left undecided. */
  recall(): void {
    const { ledger, forks, publisher } = this.#parts;
    forks.apply(ledger.recall(publisher.undecided));
  }

  /**
   * Decides all slots up to the confirmed slot `to`. `listed`: slots in which nodes list a transaction of our programs. Throws if a block is needed
   * and no endpoint answers. Returns the slots that were given up.
   */
  async decide(to: number, tip: number, listed: ReadonlySet<number>): Promise<readonly number[]> {
    const { ledger, forks, publisher, settlement, log } = this.#parts;
    const undecided = publisher.undecided.filter((slot) => slot <= to);
    forks.apply(ledger.recall(undecided));
    const open = undecided.filter((slot) => !ledger.isDecided(slot));
    const found = await Promise.all(open.map(async (slot) => ({ slot, fate: await settlement.find(slot) })));
    if (found.some(({ fate }) => fate === 'unreachable')) throw new Unreachable('No endpoint answers with a block.');
    const slotsOf = (which: string): number[] => found.flatMap(({ slot, fate }) => (fate === which ? [slot] : []));
    forks.apply(ledger.decide(slotsOf('alive'), slotsOf('dead')));
    const late = slotsOf('unknown').filter((slot) => slot <= tip - giveUpAfterSlots);
    // Lists alone show that a slot is confirmed, if nodes do not have its block any more, or serve none.
    forks.apply(
      ledger.decide(
        late.filter((slot) => listed.has(slot)),
        [],
      ),
    );
    const unknown = late.filter((slot) => !listed.has(slot));
    if (unknown.length > 0) log.error({ slots: unknown.slice(0, 16), count: unknown.length }, 'slots_undecided');
    ledger.giveUp(unknown);
    forks.decided(to, unknown);
    return unknown;
  }
}
