import { useState } from 'preact/hooks';
import { useSignal } from '../parts/hooks.ts';
import { Card } from '../parts/parts.tsx';
import { isDrain, PoolTable, type PoolEvent } from '../parts/pool-table.tsx';
import { soon } from '../state/bounded.ts';
import { sluice } from '../state/server.ts';

const maxEvents = 50;
const drawEveryMs = 250;

/** Newest first: those that the gateway retains, and what follows. */
function usePoolEvents(mint: string): readonly PoolEvent[] {
  const [events, setEvents] = useState<readonly PoolEvent[]>([]);
  useSignal([mint], (signal) => {
    let list: PoolEvent[] = [];
    setEvents(list);
    const draw = soon(() => setEvents(list), drawEveryMs, signal);
    sluice.subscribe('pools', {
      mints: [mint],
      last: maxEvents,
      signal,
      onEvent: (event) => {
        if (event.type === 'retract') list = list.filter(({ id }) => id !== event.id);
        else list = [event, ...list].slice(0, maxEvents);
        draw();
      },
      // The fault of the trades says the same.
      onError: () => undefined,
    });
  });
  return events;
}

/** Pools of the token that opened, and liquidity that came and went. Nothing is shown while nothing is known. */
export function Liquidity({ mint, mainPool }: { readonly mint: string; readonly mainPool: string | null }) {
  const events = usePoolEvents(mint);
  if (events.length === 0) return null;
  const newest = events.find(({ poolAddress }) => poolAddress === mainPool);
  return (
    <Card id="liquidity" title="Liquidity" class="markets">
      {newest !== undefined && isDrain(newest) && (
        <p class="warn">The liquidity of the pool was removed. Who holds the token can hardly sell it there any more.</p>
      )}
      <PoolTable events={events} />
    </Card>
  );
}
