import { joinLosses, type SlotLoss } from '@sluice/shared/market/verdicts/slot-verdict.ts';
import type { Outgoing, SlotNews } from './outgoing.ts';

/** Slots of dropped verdicts, of either kind: as many as readers of the log remember. Above this limit, the oldest are forgotten. */
const maxSlots = 4_096;

/**
 * The one entry that replaces dropped items in the log. It names the slots of the missing events, so that clients are notified, and
 * contains the dropped verdicts, so that these are not lost with the events.
 */
export class Dropped {
  #alive: number[] = [];
  #dead: number[] = [];
  #lost: SlotLoss | null = null;
  #receivedUs = 0;

  /** Events that were dropped with it: 1, or 0 for a verdict or an opened pool, which its first trade shows again. */
  add(dropped: Outgoing): number {
    if (dropped.type === 'pool') return 0;
    this.#receivedUs = Math.max(this.#receivedUs, dropped.ts.received);
    if (dropped.type !== 'slots') {
      const { slot, signature } = dropped;
      this.#lose({ from: slot, to: slot, signatures: signature === null ? [] : [signature] });
      return 1;
    }
    // Without its contents, a verdict would confirm events that the block lacks. Slots with events are settled again.
    const { contents } = dropped;
    this.#alive = newest(
      this.#alive,
      dropped.alive.filter((slot) => contents?.get(slot) === undefined),
    );
    this.#dead = newest(this.#dead, dropped.dead);
    if (dropped.lost !== undefined) this.#lose(dropped.lost);
    return 0;
  }

  /** When the newest of the dropped items was received. */
  news(): SlotNews {
    const verdict = { type: 'slots', alive: this.#alive, dead: this.#dead, ts: { received: this.#receivedUs, published: 0 } } as const;
    return this.#lost === null ? verdict : { ...verdict, lost: this.#lost };
  }

  get receivedUs(): number {
    return this.#receivedUs;
  }

  #lose(loss: SlotLoss): void {
    this.#lost = this.#lost === null ? loss : joinLosses(this.#lost, loss);
  }
}

function newest(slots: number[], more: readonly number[]): number[] {
  slots.push(...more);
  return slots.length > maxSlots ? slots.slice(-maxSlots) : slots;
}
