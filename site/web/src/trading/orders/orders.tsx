import type { OrderPage } from '@sluice/client';
import { venueLabel } from '@sluice/shared/wire/venues.ts';
import { useEffect, useState } from 'preact/hooks';
import { faultText, sluice } from '../../state/server.ts';
import { short } from '../../format/price.ts';
import { inQuoteCoin } from '../../format/quote-coin.ts';
import { ago, dateTime } from '../../format/text.ts';
import { nameOf, namesVersion, wantName } from '../../state/metadata/names.ts';
import { useNow, useSignal } from '../../parts/hooks.ts';
import { TokenLink } from '../../parts/links.tsx';
import { Button, Empty, Reading } from '../../parts/parts.tsx';
import { Table, type Column } from '../../parts/table.tsx';
import { soon } from '../../state/bounded.ts';
import { useStore } from '../../state/store.ts';
import { OrderBadge } from '../../parts/mode.tsx';
import { OrderFacts } from './order-facts.tsx';
import { errorText, stateText } from './words.ts';

type ListedOrder = OrderPage['orders'][number];
const pageSize = 50;
const maxOrders = 500;
const retryMs = 4_000;
/** After a change. Several come at once. */
const changedMs = 300;

/** The orders of the key or account, newest first, updated as they change. */
function useOrders() {
  const [orders, setOrders] = useState<readonly ListedOrder[] | null>(null);
  const [next, setNext] = useState<string | null>(null);
  const [fault, setFault] = useState<string | null>(null);
  const fail = (error: unknown): void => setFault(faultText(error));
  useSignal([], (signal) => {
    let [reads, shown] = [0, 0];
    const read = async (): Promise<void> => {
      const number = ++reads;
      const page = await sluice.orders({ limit: pageSize }, { signal });
      // An answer may arrive after that of a later request.
      if (number < shown) return;
      shown = number;
      setFault(null);
      const fresh = new Set(page.orders.map(({ orderId }) => orderId));
      setOrders((last) => [...page.orders, ...(last ?? []).filter(({ orderId }) => !fresh.has(orderId))].slice(0, maxOrders));
      setNext((last) => last ?? page.next);
    };
    const readSafely = (): void =>
      void read().catch((error: unknown) => {
        if (signal.aborted) return;
        fail(error);
        readLater();
      });
    const readLater = soon(readSafely, retryMs, signal);
    const readSoon = soon(readSafely, changedMs, signal);
    sluice.subscribe('orders', {
      signal,
      onEvent: (event) => {
        if (event.type === 'order') readSoon();
      },
      onGap: readSafely,
      onError: fail,
    });
    readSafely();
  });
  const readMore = async (): Promise<void> => {
    if (next === null) return;
    const page = await sluice.orders({ limit: pageSize, before: next });
    setOrders((last) => [...(last ?? []), ...page.orders].slice(0, maxOrders));
    setNext((orders?.length ?? 0) + page.orders.length >= maxOrders ? null : page.next);
  };
  return { orders, next, fault, readMore: () => void readMore().catch(fail) };
}

/** The orders of the key or account, or those of one wallet among them. */
export function OrderList({ wallet }: { readonly wallet: string | null }) {
  const { orders: all, next, fault, readMore } = useOrders();
  const orders = wallet === null ? all : (all?.filter(({ publicKey }) => publicKey === wallet) ?? null);
  const [open, setOpen] = useState<string | null>(null);
  const now = useNow();
  useStore(namesVersion);
  useEffect(() => {
    for (const { mint } of (orders ?? []).slice(0, 20)) if (mint !== null) wantName(mint);
  }, [all]);
  const more = ({ orderId }: ListedOrder) => (
    <Button class="small" aria-expanded={open === orderId} onClick={() => setOpen(open === orderId ? null : orderId)}>
      {open === orderId ? 'Less' : 'More'}
      <span class="hidden"> about order {orderId}</span>
    </Button>
  );
  const columns: readonly Column<ListedOrder>[] = [
    ...orderColumns,
    {
      head: 'Placed',
      class: 'number wide-only faint',
      title: ({ createdAtMs }) => dateTime(createdAtMs),
      cell: ({ createdAtMs }) => ago(createdAtMs, now),
    },
    { head: <span class="hidden">Details</span>, class: 'number', cell: more },
  ];
  return (
    <>
      <Reading fault={fault} isRead={orders !== null} />
      {orders?.length === 0 && (
        <Empty>
          {wallet === null
            ? 'No orders yet. Open a token from Live and place one; a simulation costs nothing.'
            : next === null
              ? 'No orders of this wallet yet.'
              : `None of the newest ${all?.length ?? 0} orders is of this wallet.`}
        </Empty>
      )}
      {orders !== null && orders.length > 0 && (
        <Table
          columns={columns}
          rows={orders}
          keyOf={({ orderId }) => orderId}
          below={(order) => [
            ...(order.error !== null && order.status !== 'expired' ? [['fault', errorText(order.error)] as const] : []),
            ...(open === order.orderId ? [['', <OrderFacts order={order} />] as const] : []),
          ]}
        />
      )}
      {next !== null && <Button onClick={readMore}>Older orders</Button>}
    </>
  );
}

/** What went in and out: of the fill if there is one, otherwise as quoted. */
function amountsOf({ side, fill, quote, quoteMint }: ListedOrder) {
  const quoted = fill === null ? '≈ ' : '';
  const coins = fill?.traderQuoteUiAmount ?? (side === 'buy' ? quote?.inUiAmount : quote?.outUiAmount);
  const tokens = fill?.baseUiAmount ?? (side === 'buy' ? quote?.outUiAmount : quote?.inUiAmount);
  if (coins === undefined || tokens === undefined) return { paid: '–', received: '–' };
  const inCoins = `${quoted}${inQuoteCoin(coins, quoteMint)}`;
  const inTokens = (
    <>
      {`${quoted}${short(tokens)}`}
      <span class="wide-only"> tokens</span>
    </>
  );
  return side === 'buy' ? { paid: inCoins, received: inTokens } : { paid: inTokens, received: inCoins };
}

const orderColumns: readonly Column<ListedOrder>[] = [
  { head: 'Token', cell: ({ mint }) => (mint === null ? '–' : <TokenLink mint={mint} {...nameOf(mint)} withMint />) },
  { head: 'Side', cell: ({ side }) => side !== null && <span class={`side ${side}`}>{side}</span> },
  {
    head: 'State',
    class: 'order-state',
    title: ({ status, kind }) => stateText(status, kind === 'paper'),
    cell: ({ status, kind }) => (
      <>
        <span class={`state ${status}`}>{status}</span> <OrderBadge kind={kind} />
      </>
    ),
    second: {
      head: 'In, out',
      cell: (order) => (
        <>
          {amountsOf(order).paid} →<br />
          {amountsOf(order).received}
        </>
      ),
    },
  },
  { head: 'In', class: 'number wide-only', cell: (order) => amountsOf(order).paid },
  { head: 'Out', class: 'number wide-only', cell: (order) => amountsOf(order).received },
  { head: 'Venue', class: 'wide-only faint', cell: ({ pool }) => (pool === null ? '–' : venueLabel(pool)) },
];
