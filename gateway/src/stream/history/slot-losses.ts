import { joinLosses, type SlotLoss } from '@sluice/shared/market/slot-verdict.ts';
import type { Gap } from '@sluice/shared/wire/replies.ts';
import { ordersPrefix } from '@sluice/shared/wire/topics.ts';
import type { History } from './history.ts';

/** Tellings that are kept: with one every few seconds, those of as long as the history reaches back. */
const maxKept = 256;

/** What ingest said of the chain that no frame tells, for those who come back: as far as the history reaches. */
export class UnseenSlots {
  readonly #history: Pick<History, 'read' | 'oldestOffset'>;
  #kept: { readonly offset: number; readonly loss: SlotLoss }[] = [];

  constructor(history: Pick<History, 'read' | 'oldestOffset'>) {
    this.#history = history;
  }

  add(offset: number, loss: SlotLoss): void {
    this.#kept.push({ offset, loss });
    if (this.#kept.length > maxKept) this.#kept.shift();
  }

  /** What was said behind a frame of a topic; null where nothing was. Where the frame is not retained: all that is kept. */
  since(topic: string, seq: number): SlotLoss | null {
    if (this.#kept.length === 0 || !isOfMarket(topic)) return null;
    const from = Math.max(this.#history.oldestOffset ?? 0, this.#history.read(topic, seq)?.offset ?? 0);
    const losses = this.#kept.filter(({ offset }) => offset > from).map(({ loss }) => loss);
    return losses.length === 0 ? null : losses.reduce(joinLosses);
  }

  clear(): void {
    this.#kept = [];
  }
}

/** Orders are not read from the chain's stream. */
export function isOfMarket(topic: string): boolean {
  return !topic.startsWith(ordersPrefix);
}

/** As clients are told: no number is missing, and the next frame is `next`. */
export function unseenGap(topic: string, next: number, { from, to, signatures }: SlotLoss, epoch: string): Gap {
  return { op: 'gap', topic, from: next, to: null, reason: 'unseen', epoch, slots: { from, to }, signatures: [...signatures] };
}
