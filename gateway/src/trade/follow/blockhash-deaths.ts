import { contextOf } from '../send/answer-forms.ts';
import type { FinalizedPoint } from './signature-status.ts';

/** A blockhash that lives is asked about again after so long. */
const askEveryMs = 1_000;
/** Blockhashes asked about in one go; the others have their turn with the next. */
const maxAtOnce = 16;
/** Blockhashes that are remembered; of more, the one asked about first is forgotten, and asked about again. */
const maxRemembered = 4_096;

/** Which blockhashes the finalized chain of one node has outlived: nothing that carries one of them can land any more, as far as that node goes. */
export interface BlockhashDeaths {
  /** Asks about those that are not known to be dead. `point`: what the node holds for final; an answer from before it says nothing. */
  look(blockhashes: Iterable<string>, point: FinalizedPoint, nowMs: number): Promise<void>;
  /** What the node said last; null where it has not said. */
  isDead(blockhash: string): boolean | null;
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

  async function askOne(blockhash: string, { slot }: FinalizedPoint): Promise<void> {
    const answer = await ask('isBlockhashValid', [blockhash, { commitment: 'finalized', minContextSlot: slot }]);
    const told = contextOf(answer, newestSlot());
    const known = asked.get(blockhash);
    if (known !== undefined && told !== null && told.slot >= slot && typeof told.value === 'boolean') known.isDead = !told.value;
  }

  return {
    async look(blockhashes, point, nowMs) {
      const isDue = (one: string): boolean => {
        const known = asked.get(one);
        return known === undefined || (known.isDead !== true && nowMs - known.atMs >= askEveryMs);
      };
      const due = [...new Set(blockhashes)].filter(isDue).slice(0, maxAtOnce);
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
    isDead: (blockhash) => asked.get(blockhash)?.isDead ?? null,
  };
}
