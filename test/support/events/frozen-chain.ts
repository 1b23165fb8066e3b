import type { Ingest } from '@sluice/ingest/ingest.ts';
import type { Bus } from '@sluice/shared/bus/bus.ts';

const repeatEveryMs = 1_000;

/**
 * Ends ingest, and repeats its last status until the returned function is called: the chain is visible, and nothing happens on it.
 * Otherwise a frozen chain would count as unreachable after some seconds.
 */
export async function freezeChain(bus: Bus, ingest: Pick<Ingest, 'stats' | 'close'>): Promise<() => void> {
  // Its last status on the bus may be a second old, from before it knew the chain.
  const last = ingest.stats();
  await ingest.close();
  const report = (): Promise<void> => bus.setStatus(`ingest:${last.instance}`, { ...last }, 4 * repeatEveryMs);
  await report();
  const timer = setInterval(() => void report(), repeatEveryMs);
  return () => clearInterval(timer);
}
