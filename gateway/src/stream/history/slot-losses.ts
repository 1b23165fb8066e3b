import { joinLosses, type SlotLoss } from '@sluice/shared/market/verdicts/slot-verdict.ts';
import type { Gap } from '@sluice/shared/wire/stream/replies.ts';
import { ordersPrefix } from '@sluice/shared/wire/stream/topics.ts';
import type { History } from './history.ts';

/** Losses retained. Ingest reports one every few seconds at most, so these reach back as far as the history. */
const maxLosses = 256;

/** Slots whose events ingest reported as lost, for resuming clients: no missing `seq` shows such a loss. */
export class SlotLosses {
  readonly #history: Pick<History, 'read' | 'oldestOffset'>;
  #losses: { readonly offset: number; readonly loss: SlotLoss }[] = [];

  constructor(history: Pick<History, 'read' | 'oldestOffset'>) {
    this.#history = history;
  }

  add(offset: number, loss: SlotLoss): void {
    this.#losses.push({ offset, loss });
    if (this.#losses.length > maxLosses) this.#losses.shift();
  }

  /** All losses reported after frame `seq` of a topic, joined; null if there are none. If the frame is not retained, all known losses. */
  since(topic: string, seq: number): SlotLoss | null {
    if (this.#losses.length === 0 || !isMarketTopic(topic)) return null;
    const from = Math.max(this.#history.oldestOffset ?? 0, this.#history.read(topic, seq)?.offset ?? 0);
    const losses = this.#losses.filter(({ offset }) => offset > from).map(({ loss }) => loss);
    return losses.length === 0 ? null : losses.reduce(joinLosses);
  }

  clear(): void {
    this.#losses = [];
  }
}

/** Events of every topic come from the chain, except orders. */
export function isMarketTopic(topic: string): boolean {
  return !topic.startsWith(ordersPrefix);
}

/** The `gap` that reports a loss. No `seq` is missing: the next frame is `next`. */
export function slotLossGap(topic: string, next: number, { from, to, signatures }: SlotLoss, epoch: string): Gap {
  return { op: 'gap', topic, from: next, to: null, reason: 'unseen', epoch, slots: { from, to }, signatures: [...signatures] };
}
