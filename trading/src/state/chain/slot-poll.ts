import { isSlot } from '@sluice/shared/solana/encoding/json-forms.ts';
import type { Rpc } from '@sluice/shared/solana/rpc/rpc.ts';
import type { ChainView } from './chain-view.ts';

/** About two slots. This detects a late PubSub connection, even if there is no other endpoint. */
const everyMs = 400;

export interface SlotPollCounts {
  polls: number;
  failures: number;
  /** Slots that the chain cannot have reached. */
  refused: number;
}

/** Asks every endpoint for its slot over HTTP, independently of its PubSub connection. */
export function pollSlots(endpoints: readonly Rpc[], chain: ChainView, signal: AbortSignal): { readonly counts: SlotPollCounts } {
  const counts: SlotPollCounts = { polls: 0, failures: 0, refused: 0 };
  const timers: NodeJS.Timeout[] = [];
  signal.addEventListener('abort', () => timers.forEach((timer) => clearTimeout(timer)), { once: true });

  async function poll(rpc: Rpc, index: number): Promise<void> {
    counts.polls++;
    try {
      const slot = await rpc.call('getSlot', [{ commitment: 'processed' }], signal);
      const isPossible = isSlot(slot) && slot <= chain.newestSlot;
      if (!isPossible) counts.refused++;
      chain.report(index, 'http', isPossible ? slot : null);
    } catch {
      // Other endpoints may still report slots. If none does, no state is treated as current.
      counts.failures++;
      chain.report(index, 'http', null);
    }
    if (signal.aborted) return;
    timers[index] = setTimeout(() => void poll(rpc, index), everyMs);
    timers[index].unref();
  }

  for (const [index, rpc] of endpoints.entries()) void poll(rpc, index);
  return { counts };
}
