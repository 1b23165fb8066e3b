import type { LiquidityAdded, LiquidityRemoved, PoolCreated } from '@sluice/client';
import { venueLabel } from '@sluice/shared/wire/venues.ts';
import { short, shortUsd } from '../format/price.ts';
import { inQuoteCoin } from '../format/quote-coin.ts';
import { age } from '../format/text.ts';
import { nameOf } from '../state/metadata/names.ts';
import { useNow } from './hooks.ts';
import { TokenLink, WalletLink } from './links.tsx';
import { Table, type Column } from './table.tsx';

export type PoolEvent = PoolCreated | LiquidityAdded | LiquidityRemoved;

/** A removal that leaves less than this part of the pool drains it. */
const drainedPart = 0.1;
const words = { poolCreated: 'New pool', liquidityAdded: 'Added', liquidityRemoved: 'Removed' } as const;
const tones = { poolCreated: '', liquidityAdded: 'buy', liquidityRemoved: 'sell' } as const;

export function isDrain(event: PoolEvent): boolean {
  if (event.type !== 'liquidityRemoved' || event.quoteLeft === null) return false;
  const [moved, left] = [Number(event.quoteAmount), Number(event.quoteLeft)];
  return left < (moved + left) * drainedPart;
}

function Happened({ event }: { readonly event: PoolEvent }) {
  const isBurned = event.type !== 'liquidityRemoved' && Number(event.lpBurned) > 0;
  return (
    <>
      <span class={tones[event.type]}>{words[event.type]}</span> {isDrain(event) && <span class="badge off">drained</span>}
      {isBurned && <span class="badge">LP burned</span>} {Number(event.lpLocked) > 0 && <span class="badge">LP locked</span>}
      <small class="faint">
        {venueLabel(event.pool)} by <WalletLink address={event.type === 'poolCreated' ? event.creator : event.provider} />
      </small>
    </>
  );
}

const columns: readonly Column<PoolEvent>[] = [
  { head: 'Liquidity', class: 'liquidity', title: ({ poolAddress }) => poolAddress, cell: (event) => <Happened event={event} /> },
  {
    head: 'Amount',
    class: 'number',
    second: 'Left',
    cell: ({ quoteUiAmount, quoteMint, tokenAmount }) => (
      <>
        {inQuoteCoin(quoteUiAmount, quoteMint)}
        <small class="faint">{short(tokenAmount)} tokens</small>
      </>
    ),
  },
  {
    head: 'Left',
    class: 'number wide-only',
    hint: 'Value of what the pool has afterwards',
    cell: (event) => (event.type === 'poolCreated' ? '–' : shortUsd(event.leftUsd)),
  },
];
const token: Column<PoolEvent> = { head: 'Token', cell: ({ mint }) => <TokenLink mint={mint} {...nameOf(mint)} /> };

/** Pools that opened, and liquidity that came and went, the newest first. `withTokens`: of several tokens, each linked to its page. */
export function PoolTable({ events, withTokens = false }: { readonly events: readonly PoolEvent[]; readonly withTokens?: boolean }) {
  const now = useNow();
  const ageOf: Column<PoolEvent> = { head: 'Age', class: 'number faint', cell: ({ ts }) => age(now - ts.received / 1_000) };
  return (
    <Table
      columns={[...(withTokens ? [token] : []), ...columns, ageOf]}
      rows={events}
      keyOf={({ id }) => id}
      classOf={(event) => (isDrain(event) ? 'sell' : '')}
      {...(withTokens && { mintOf: ({ mint }: PoolEvent) => mint })}
    />
  );
}
