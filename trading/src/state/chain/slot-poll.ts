import { pause } from '@sluice/shared/runtime/abort/pause.ts';
import { isSlot } from '@sluice/shared/solana/encoding/json-forms.ts';
import type { Rpc } from '@sluice/shared/solana/rpc/rpc.ts';
import type { ChainView } from './chain-view.ts';

/** About two slots. This detects a late PubSub connection, even if there is no other endpoint. */
const everyMs = 400;

/** Asks every endpoint for its slot over HTTP, independently of its PubSub connection. `refused`: slots that the chain cannot have reached. */
export function pollSlots(endpoints: readonly Rpc[], chain: ChainView, signal: AbortSignal) {
  const counts = { polls: 0, failures: 0, refused: 0 };
  const poll = async (rpc: Rpc, index: number): Promise<void> => {
    while (!signal.aborted) {
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
      await pause(everyMs, signal, { ref: false });
    }
  };
  for (const [index, rpc] of endpoints.entries()) void poll(rpc, index);
  return counts;
}
