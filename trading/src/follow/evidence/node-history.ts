import { countOf } from '../../nodes/answer-forms.ts';
import type { FinalizedPoint } from './signature-status.ts';
import type { TrackedOrder } from './tracked-order.ts';

/**
 * For this many blocks after the last valid block of a message, a node cannot have forgotten it. A node remembers the transactions of its last
 * 300 finalized blocks, even if its history is shorter, and a message lands within 150 blocks, or 64 more if a caller signed it.
 */
const rememberedBlocks = 300 - 150 - 64;
/** How often a node is asked how far back its history goes. */
const askEveryMs = 10_000;

export type NodeHistory = ReturnType<typeof createNodeHistory>;

/** Calls the node. Resolves with null if the node gives no answer. */
export type Asking = (method: string, params: readonly unknown[]) => Promise<unknown>;

/** How far back one node's history goes. A new node, or one that retains little, lacks older transactions even if they landed. */
export function createNodeHistory(ask: Asking) {
  let askedAtMs = -Infinity;
  /** Unix milliseconds since when it has all blocks; null if unknown. */
  let fromMs: number | null = null;
  return {
    /** Asks the node how far back it goes, unless it was asked recently. */
    async check(nowMs: number): Promise<void> {
      if (nowMs - askedAtMs < askEveryMs) return;
      askedAtMs = nowMs;
      const first = countOf(await ask('getFirstAvailableBlock', []));
      const seconds = first === null ? null : countOf(await ask('getBlockTime', [first]));
      fromMs = seconds === null ? null : seconds * 1_000;
    },
    /** Whether the node may have forgotten the message of this order even if it landed. */
    mayHaveForgotten({ lastValidBlockHeight, createdAtMs }: TrackedOrder['order'], { blockHeight }: FinalizedPoint): boolean {
      const isRemembered = lastValidBlockHeight !== null && blockHeight <= lastValidBlockHeight + rememberedBlocks;
      return !isRemembered && (fromMs === null || fromMs > createdAtMs);
    },
  };
}
