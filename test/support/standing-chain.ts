import type { Ingest } from '@sluice/ingest/ingest.ts';
import type { Bus } from '@sluice/shared/bus/bus.ts';

const tellEveryMs = 1_000;

/**
 * Ends ingest, and goes on telling what it told last, until the function that it returns is called: a chain that is seen, and on which
 * nothing happens. To ingest a chain that stands still is one that nobody sees, after some seconds.
 */
export async function standStill(bus: Bus, ingest: Pick<Ingest, 'stats' | 'close'>): Promise<() => void> {
  // What it told last on the bus may be a second old, of before it knew the chain.
  const last = ingest.stats();
  await ingest.close();
  const tell = (): Promise<void> => bus.setStatus(`ingest:${last.instance}`, { ...last }, 4 * tellEveryMs);
  await tell();
  const timer = setInterval(() => void tell(), tellEveryMs);
  return () => clearInterval(timer);
}
