import type { TokenInfo } from '@sluice/client';
import { venueLabel } from '@sluice/shared/wire/venues.ts';
import { shortUsd } from '../format/price.ts';
import { quoteSymbol, tradePrice } from '../format/quote-coin.ts';
import { shortAddress } from '../format/text.ts';
import { AsOf, Empty } from '../parts/parts.tsx';

/** Where the token trades: its curve and pools, each with its own price. */
export function Pools(props: { readonly info: Pick<TokenInfo, 'pools' | 'poolAddress' | 'curve'>; readonly readAtMs: number }) {
  const { pools, poolAddress, curve } = props.info;
  const kindOf = (address: string): string =>
    address === curve?.poolAddress ? (curve.complete ? 'curve, complete' : 'curve') : address === poolAddress ? 'main' : '';
  return (
    <section class="card markets" aria-labelledby="pools">
      <div class="row between">
        <h2 id="pools">Pools</h2>
        <AsOf readAtMs={props.readAtMs} />
      </div>
      {pools.length === 0 && <Empty>No supported venue trades this token.</Empty>}
      {pools.length > 0 && (
        <table>
          <thead>
            <tr>
              <th>Venue</th>
              <th class="number">Price</th>
              <th class="number">Liquidity</th>
            </tr>
          </thead>
          <tbody>
            {pools.map((pool) => (
              <tr key={pool.poolAddress}>
                <td title={pool.poolAddress}>
                  {venueLabel(pool.venue)} {kindOf(pool.poolAddress) !== '' && <span class="badge">{kindOf(pool.poolAddress)}</span>}
                  <small class="faint">
                    {shortAddress(pool.poolAddress)} · {quoteSymbol(pool.quoteMint)}
                  </small>
                </td>
                <td class="number">{tradePrice(pool)}</td>
                <td class="number">{shortUsd(pool.liquidityUsd)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
