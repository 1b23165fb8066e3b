import { countOf } from '../nodes/answer-forms.ts';
import type { FinalizedPoint } from './signature-status.ts';
import type { TrackedOrder } from './tracked-order.ts';

/**
 * Blocks after its last one within which a node cannot have forgotten an order's message: it remembers those of its last 300 finalized
 * blocks, whatever its history holds, and a message lands in one of 150, or of the 64 more that are allowed to a caller's.
 */
const rememberedBlocks = 300 - 150 - 64;
/** How far back a node's history goes is asked again after so long. */
const askEveryMs = 10_000;

/** What one node can still know of. One that was made anew, or keeps little, has nothing of what landed before: that then says nothing. */
export interface NodeHistory {
  /** Asks how far back it goes, where that was not asked of late. */
  look(nowMs: number): Promise<void>;
  /** Whether a message that landed for this order would not be known here any more. */
  mayHaveForgotten(order: TrackedOrder['order'], finalized: FinalizedPoint): boolean;
}

/** `ask` calls the node, and gives null where it gave no answer. */
export function createNodeHistory(ask: (method: string, params: readonly unknown[]) => Promise<unknown>): NodeHistory {
  let askedAtMs = -Infinity;
  /** Unix milliseconds from which on it has all blocks; null where that is not known. */
  let fromMs: number | null = null;
  return {
    async look(nowMs) {
      if (nowMs - askedAtMs < askEveryMs) return;
      askedAtMs = nowMs;
      const first = countOf(await ask('getFirstAvailableBlock', []));
      const seconds = first === null ? null : countOf(await ask('getBlockTime', [first]));
      fromMs = seconds === null ? null : seconds * 1_000;
    },
    mayHaveForgotten({ lastValidBlockHeight, createdAtMs }, { blockHeight }) {
      const isRemembered = lastValidBlockHeight !== null && blockHeight <= lastValidBlockHeight + rememberedBlocks;
      return !isRemembered && (fromMs === null || fromMs > createdAtMs);
    },
  };
}
