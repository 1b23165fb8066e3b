import type { Trade } from '@sluice/client';
import { shortUsd } from '../format/price.ts';
import { inQuoteCoin, tradePrice } from '../format/quote-coin.ts';
import { age, clockTime } from '../format/text.ts';
import { nameOf } from '../state/metadata/names.ts';
import { useNow } from './hooks.ts';
import { TokenLink } from './links.tsx';
import { Table, type Column } from './table.tsx';
import { SideOf, Trader } from './tape.tsx';

/** Trades of several tokens, newest first. Without `isOwn` they are those of one wallet, and have their times instead of their ages. */
export function TradeTable({ trades, isOwn }: { readonly trades: readonly Trade[]; readonly isOwn?: (trade: Trade) => boolean }) {
  const now = useNow();
  const timeOf = ({ ts }: Trade): string => clockTime(ts.received / 1_000);
  const isMarked = (trade: Trade): boolean => isOwn?.(trade) === true;
  const columns: readonly Column<Trade>[] = [
    isOwn === undefined
      ? { head: 'Time', class: 'faint', title: timeOf, cell: timeOf }
      : { head: 'Age', class: 'faint', title: timeOf, cell: ({ ts }) => age(now - ts.received / 1_000) },
    { head: 'Side', cell: (trade) => <SideOf trade={trade} isOwn={isMarked(trade)} /> },
    { head: 'Token', cell: ({ mint }) => <TokenLink mint={mint} symbol={nameOf(mint)?.symbol} size={20} withMint={isOwn === undefined} /> },
    { head: 'Size', class: 'number', second: 'Price', cell: ({ quoteUiAmount, quoteMint }) => inQuoteCoin(quoteUiAmount, quoteMint) },
    { head: 'Price', class: 'number wide-only', cell: tradePrice },
    { head: 'Market cap', class: 'number wide-only', cell: ({ marketCapUsd }) => shortUsd(marketCapUsd || null) },
    ...(isOwn === undefined
      ? []
      : [{ head: 'Trader', class: 'wide-only', cell: (trade: Trade) => <Trader of={trade} isOwn={isOwn(trade)} /> }]),
  ];
  return (
    <Table
      columns={columns}
      rows={trades}
      keyOf={({ id }) => id}
      mintOf={({ mint }) => mint}
      classOf={(trade) => (isMarked(trade) ? 'own' : '')}
    />
  );
}
