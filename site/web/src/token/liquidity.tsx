import type { LiquidityAdded, LiquidityRemoved, PoolCreated } from '@sluice/client';
import { venueLabel } from '@sluice/shared/wire/venues.ts';
import { useState } from 'preact/hooks';
import { short, shortUsd } from '../format/price.ts';
import { inQuoteCoin } from '../format/quote-coin.ts';
import { age } from '../format/text.ts';
import { useNow, useSignal } from '../parts/hooks.ts';
import { WalletLink } from '../parts/links.tsx';
import { Card } from '../parts/parts.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { soon } from '../state/bounded.ts';
import { sluice } from '../state/server.ts';

type PoolEvent = PoolCreated | LiquidityAdded | LiquidityRemoved;

const maxEvents = 50;
const drawEveryMs = 250;
/** A removal that leaves less than this part of the pool is named above the list. */
const drainedPart = 0.1;

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

const words = { poolCreated: 'New pool', liquidityAdded: 'Added', liquidityRemoved: 'Removed' } as const;
const classes = { poolCreated: '', liquidityAdded: 'buy', liquidityRemoved: 'sell' } as const;

function isDrain(event: PoolEvent): boolean {
  if (event.type !== 'liquidityRemoved' || event.quoteLeft === null) return false;
  const [moved, left] = [Number(event.quoteAmount), Number(event.quoteLeft)];
  return left < (moved + left) * drainedPart;
}

/** Pools of the token that opened, and liquidity that came and went. Nothing is shown while nothing is known. */
export function Liquidity({ mint, mainPool }: { readonly mint: string; readonly mainPool: string | null }) {
  const now = useNow();
  const events = usePoolEvents(mint);
  if (events.length === 0) return null;
  const newest = events.find(({ poolAddress }) => poolAddress === mainPool) ?? events[0]!;
  const columns: readonly Column<PoolEvent>[] = [
    {
      head: 'Liquidity',
      title: (event) => event.poolAddress,
      cell: (event) => (
        <>
          <span class={classes[event.type]}>{words[event.type]}</span> {isDrain(event) && <span class="badge">drained</span>}
          {event.type !== 'liquidityRemoved' && Number(event.lpBurned) > 0 && <span class="badge">LP burned</span>}
          <small class="faint">
            {venueLabel(event.pool)} by <WalletLink address={event.type === 'poolCreated' ? event.creator : event.provider} />
          </small>
        </>
      ),
    },
    {
      head: 'Amount',
      class: 'number',
      cell: ({ quoteUiAmount, quoteMint, tokenAmount }) => (
        <>
          {inQuoteCoin(quoteUiAmount, quoteMint)}
          <small class="faint">{short(tokenAmount)} tokens</small>
        </>
      ),
    },
    { head: 'Left', class: 'number', cell: (event) => (event.type === 'poolCreated' ? '–' : shortUsd(event.leftUsd)) },
    { head: 'Age', class: 'number faint', cell: ({ ts }) => age(now - ts.received / 1_000) },
  ];
  return (
    <Card id="liquidity" title="Liquidity" class="markets">
      {isDrain(newest) && <p class="warn">The liquidity of the pool was removed. Who holds the token can hardly sell it there any more.</p>}
      <Table columns={columns} rows={events} keyOf={(event) => event.id} classOf={(event) => (isDrain(event) ? 'sell' : '')} />
    </Card>
  );
}
