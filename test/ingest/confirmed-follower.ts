import type { LogEntry } from '@sluice/shared/bus/bus.ts';
import { ConfirmedSlots, type ConfirmedFate } from '@sluice/shared/market/verdicts/confirmed-slots.ts';
import { readRecord } from '../../ingest/src/publisher/log-tail.ts';

/** A follower at `confirmed` of one topic, as a gateway serves it: it gets everything up to the first event that is not decided. */
export class ConfirmedFollower {
  readonly passed: string[] = [];
  readonly entries: LogEntry[] = [];
  readonly #slots = new ConfirmedSlots();
  readonly #waiting: { readonly id: string; readonly slot: number; readonly processed: boolean; readonly entry: LogEntry }[] = [];

  take(entry: LogEntry): void {
    const said = readRecord(entry);
    if (said?.kind === 'published' && said.topics.includes('trades')) this.#waiting.push({ ...said, entry });
    else if (said?.kind === 'slots') this.#slots.take(said.verdict);
    for (let [first] = this.#waiting; first !== undefined; [first] = this.#waiting) {
      const fate = this.#fateOf(first);
      if (fate === 'wait') return;
      this.#waiting.shift();
      if (fate !== 'pass') continue;
      this.passed.push(first.id);
      this.entries.push(first.entry);
    }
  }

  #fateOf({ id, slot, processed }: { readonly id: string; readonly slot: number; readonly processed: boolean }): ConfirmedFate {
    if (!processed) return 'pass';
    return this.#slots.isRetracted(slot, id) ? 'drop' : this.#slots.fateOfSlot(slot);
  }

  /** Slot of the first event that waits; null if none does. */
  get waitsFor(): number | null {
    return this.#waiting[0]?.slot ?? null;
  }

  /** What passed, and what will certainly pass once the events of newer slots that precede it in the log are decided. */
  get decided(): readonly string[] {
    const behind = this.#waiting.filter((event) => this.#fateOf(event) === 'pass');
    return [...this.passed, ...behind.map(({ id }) => id)];
  }
}
