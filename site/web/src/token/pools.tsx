import type { TokenInfo } from '@sluice/client';
import { venueLabel } from '@sluice/shared/wire/venues.ts';
import { shortUsd } from '../format/price.ts';
import { quoteSymbol, tradePrice } from '../format/quote-coin.ts';
import { shortAddress } from '../format/text.ts';
import { AsOf, Card, Empty } from '../parts/parts.tsx';
import { Table, type Column } from '../parts/table.tsx';

type Pool = TokenInfo['pools'][number];

/** Where the token trades: its curve and pools, each with its own price. */
export function Pools(props: { readonly info: Pick<TokenInfo, 'pools' | 'poolAddress' | 'curve'>; readonly readAtMs: number }) {
  const { pools, poolAddress, curve } = props.info;
  const kindOf = (address: string): string =>
    address === curve?.poolAddress ? (curve.complete ? 'curve, complete' : 'curve') : address === poolAddress ? 'main' : '';
  const columns: readonly Column<Pool>[] = [
    {
      head: 'Venue',
      title: (pool) => pool.poolAddress,
      cell: ({ venue, poolAddress: address, quoteMint }) => (
        <>
          {venueLabel(venue)} {kindOf(address) !== '' && <span class="badge">{kindOf(address)}</span>}
          <small class="faint">
            {shortAddress(address)} · {quoteSymbol(quoteMint)}
          </small>
        </>
      ),
    },
    { head: 'Price', class: 'number', cell: tradePrice },
    { head: 'Liquidity', class: 'number', cell: ({ liquidityUsd }) => shortUsd(liquidityUsd) },
  ];
  return (
    <Card id="pools" title="Pools" class="markets" aside={<AsOf readAtMs={props.readAtMs} />}>
      {pools.length === 0 && <Empty>No supported venue trades this token.</Empty>}
      {pools.length > 0 && <Table columns={columns} rows={pools} keyOf={(pool) => pool.poolAddress} />}
    </Card>
  );
}
