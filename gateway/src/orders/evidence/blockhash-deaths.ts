import { decodeTransaction } from '@sluice/shared/solana/transaction.ts';
import { contextOf } from '../nodes/answer-forms.ts';
import type { FinalizedPoint } from './signature-status.ts';
import type { TrackedOrder } from './tracked-order.ts';

/**
 * Blocks that a node's finalized height must be past the last one of a message where nothing else says that it can land no more: as many as
 * a node may be ahead of another behind the same address, and fewer than after which it may have forgotten the message.
 */
const expiryMarginBlocks = 32;
/** A blockhash that lives is asked about again after so long. */
const askEveryMs = 1_000;
/** Blockhashes asked about in one go; the others have their turn with the next. */
const maxAtOnce = 16;
/** Blockhashes that are remembered; of more, the one asked about first is forgotten, and asked about again. */
const maxRemembered = 4_096;

/** Which blockhashes the finalized chain of one node has outlived: nothing that carries one of them can land any more, as far as that node goes. */
export interface BlockhashDeaths {
  /** Asks about those that are not known to be dead. `point`: what the node holds for final; an answer from before it says nothing. */
  look(orders: readonly TrackedOrder[], point: FinalizedPoint, nowMs: number): Promise<void>;
  /**
   * Of an order whose last block is behind `point`. That last block may itself be one endpoint's word, so the blockhash must be dead too, or,
   * where the node does not say whether it is, the height be well past. One node alone is held to both.
   */
  canLandNoMore(tracked: TrackedOrder, point: FinalizedPoint): boolean;
}

interface Asked {
  readonly atMs: number;
  isDead: boolean | null;
}

/** `ask` calls the node, and gives null where it gave no answer. */
export function createBlockhashDeaths(
  ask: (method: string, params: readonly unknown[]) => Promise<unknown>,
  newestSlot: () => number,
): BlockhashDeaths {
  const asked = new Map<string, Asked>();
  const blockhashes = new WeakMap<TrackedOrder, string>();

  /** Empty where the message is not known. */
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
    const told = contextOf(answer, newestSlot());
    const known = asked.get(blockhash);
    if (known !== undefined && told !== null && told.slot >= slot && typeof told.value === 'boolean') known.isDead = !told.value;
  }

  return {
    async look(orders, point, nowMs) {
      const isDue = (one: string): boolean => {
        const known = asked.get(one);
        return known === undefined || (known.isDead !== true && nowMs - known.atMs >= askEveryMs);
      };
      const due = [...new Set(orders.map(blockhashOf))].filter((one) => one !== '' && isDue(one)).slice(0, maxAtOnce);
      for (const blockhash of due) {
        const isDead = asked.get(blockhash)?.isDead ?? null;
        asked.delete(blockhash);
        asked.set(blockhash, { atMs: nowMs, isDead });
      }
      for (const oldest of asked.keys()) {
        if (asked.size <= maxRemembered) break;
        asked.delete(oldest);
      }
      await Promise.all(due.map((blockhash) => askOne(blockhash, point)));
    },
    canLandNoMore(tracked, { blockHeight }) {
      const { lastValidBlockHeight, views } = tracked;
      const isDead = asked.get(blockhashOf(tracked))?.isDead ?? null;
      if (isDead === true && views.length > 1) return true;
      return isDead !== false && lastValidBlockHeight !== null && blockHeight > lastValidBlockHeight + expiryMarginBlocks;
    },
  };
}
