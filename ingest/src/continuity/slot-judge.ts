import type { Logger } from '@sluice/shared/log/log.ts';
import type { Rpc } from '@sluice/shared/solana/rpc.ts';
import type { Publisher } from '../publisher/publisher.ts';
import type { Forks } from './forks.ts';
import { answersOf, firstAvailable, listBlocks, Unreachable } from './listing.ts';
import type { BlockList, SlotLedger } from './slot-ledger.ts';

/** If endpoints contradict each other about a slot, it is reported as lost once it is this many slots (about 13 seconds) behind the tip. */
const giveUpAfterSlots = 64;

export interface SlotJudgeParts {
  readonly rpcs: readonly Rpc[];
  readonly publisher: Publisher;
  readonly ledger: SlotLedger;
  readonly forks: Forks;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Slots from `from` on in which nodes list a transaction of our programs. */
export interface ListedSlots {
  readonly from: number;
  readonly slots: ReadonlySet<number>;
}

/**
 * While this process leads, decides every slot that readers of the log wait for, even if another process published its events: from what the ledger
 * knows, then from the blocks that the majority of the endpoints lists. A slot that cannot be decided in time is reported as lost. So a
 * reader waits for a slot at most until the next round after its confirmation.
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
   * Decides all slots up to the confirmed slot `to`. Throws if lists of blocks are needed and no endpoint returns one. Returns the slots
   * that were given up.
   */
  async decide(to: number, tip: number, listed: ListedSlots): Promise<readonly number[]> {
    const { ledger, forks, publisher, log } = this.#parts;
    const undecided = publisher.undecided.filter((slot) => slot <= to);
    forks.apply(ledger.recall(undecided));
    const { unlinked } = ledger;
    if (unlinked !== null && unlinked.from <= to) {
      const end = Math.min(to, unlinked.to);
      const lists = await this.#listBlocks(unlinked.from, end, listed);
      forks.apply(ledger.settle(unlinked.from, end, lists));
    }
    const unknown = undecided.filter((slot) => slot <= tip - giveUpAfterSlots && !ledger.isDecided(slot));
    if (unknown.length > 0) log.error({ slots: unknown.slice(0, 16), count: unknown.length }, 'slots_undecided');
    forks.decided(to, unknown);
    return unknown;
  }

  /** If no node lists blocks so far back, slots with a transaction of our programs live. */
  async #listBlocks(from: number, to: number, listed: ListedSlots): Promise<readonly BlockList[]> {
    const { rpcs, signal } = this.#parts;
    const { values, fault } = await answersOf(rpcs, async (rpc): Promise<BlockList> => {
      const first = Math.min(to + 1, Math.max(from, await firstAvailable(rpc, signal)));
      const blocks = first > to ? [] : await listBlocks(rpc, first, to, signal);
      const older = [...listed.slots].filter((slot) => slot < first);
      return { from: Math.min(first, Math.max(from, listed.from)), slots: new Set([...older, ...blocks]) };
    });
    if (values.length === 0) throw new Unreachable('No endpoint lists blocks.', { cause: fault });
    return values;
  }
}
