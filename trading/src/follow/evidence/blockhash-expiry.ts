import { decodeTransaction } from '@sluice/shared/solana/transaction/transaction.ts';
import { contextOf, countOf } from '../../nodes/answer-forms.ts';
import type { FinalizedPoint } from './signature-status.ts';
import type { TrackedOrder } from './tracked-order.ts';

/**
 * For this many blocks after the last valid block of a message, a node cannot have forgotten it. A node remembers the transactions of its last
 * 300 finalized blocks, even if its history is shorter, and a message lands within 150 blocks, or 64 more if a caller signed it.
 */
const rememberedBlocks = 300 - 150 - 64;
/** How often a node is asked how far back its history goes. */
const historyEveryMs = 10_000;

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
      if (nowMs - askedAtMs < historyEveryMs) return;
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

/**
 * If a node does not report whether a blockhash has expired, its finalized height must be this many blocks past the last valid block of the
 * message. Nodes behind the same address differ by fewer blocks, and a node forgets a message only after more.
 */
const expiryMarginBlocks = 32;
/** A blockhash that is still valid is asked about again after this long. */
const askEveryMs = 1_000;
/** Most blockhashes asked about in one call of `check`. The others follow in the next call. */
const maxAtOnce = 16;
/** Most blockhashes remembered. Beyond that the oldest is forgotten, and asked about again if needed. */
const maxRemembered = 4_096;

export type BlockhashExpiry = ReturnType<typeof createBlockhashExpiry>;

interface Asked {
  readonly atMs: number;
  isExpired: boolean | null;
}

/** Which blockhashes have expired on the finalized chain of one node. According to that node, messages with such a blockhash cannot land any more. */
export function createBlockhashExpiry(ask: Asking, newestSlot: () => number) {
  const asked = new Map<string, Asked>();
  const blockhashes = new WeakMap<TrackedOrder, string>();

  /** Empty if the message is unknown. */
  function blockhashOf(tracked: TrackedOrder): string {
    const known = blockhashes.get(tracked);
    if (known !== undefined) return known;
    const decoded = tracked.order.signedBytes === null ? null : decodeTransaction(tracked.order.signedBytes);
    const blockhash = decoded === null || decoded.kind === 'malformed' ? '' : decoded.recentBlockhash;
    blockhashes.set(tracked, blockhash);
    return blockhash;
  }

  async function askOne(blockhash: string, { slot }: FinalizedPoint): Promise<void> {
    const answer = await ask('isBlockhashValid', [blockhash, { commitment: 'finalized', minContextSlot: slot }]);
    const context = contextOf(answer, newestSlot());
    const known = asked.get(blockhash);
    if (known !== undefined && context !== null && context.slot >= slot && typeof context.value === 'boolean')
      known.isExpired = !context.value;
  }

  return {
    /** Asks about the blockhashes that are not known to have expired. `point`: the node's finalized block; answers of older slots are ignored. */
    async check(orders: readonly TrackedOrder[], point: FinalizedPoint, nowMs: number): Promise<void> {
      const isDue = (one: string): boolean => {
        const known = asked.get(one);
        return known === undefined || (known.isExpired !== true && nowMs - known.atMs >= askEveryMs);
      };
      const due = [...new Set(orders.map(blockhashOf))].filter((one) => one !== '' && isDue(one)).slice(0, maxAtOnce);
      for (const blockhash of due) {
        const isExpired = asked.get(blockhash)?.isExpired ?? null;
        asked.delete(blockhash);
        asked.set(blockhash, { atMs: nowMs, isExpired });
      }
      for (const oldest of asked.keys()) {
        if (asked.size <= maxRemembered) break;
        asked.delete(oldest);
      }
      await Promise.all(due.map((blockhash) => askOne(blockhash, point)));
    },
    /**
     * For an order whose last valid block is below `point`. Only one endpoint may have reported that block, so the blockhash must have expired as
     * well, or, if the node does not report that, the height must exceed the margin. With a single node, both are required.
     */
    cannotLand(tracked: TrackedOrder, { blockHeight }: FinalizedPoint): boolean {
      const { lastValidBlockHeight, views } = tracked;
      const isExpired = asked.get(blockhashOf(tracked))?.isExpired ?? null;
      if (isExpired === true && views.length > 1) return true;
      return isExpired !== false && lastValidBlockHeight !== null && blockHeight > lastValidBlockHeight + expiryMarginBlocks;
    },
  };
}
