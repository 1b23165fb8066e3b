import type { Trade } from '@sluice/client';
import { shortUsd } from '../format/price.ts';
import { inQuoteCoin, tradePrice } from '../format/quote-coin.ts';
import { age, clockTime } from '../format/text.ts';
import { nameOf } from '../state/metadata/names.ts';
import { useNow } from './hooks.ts';
import { openToken, TokenLink } from './links.tsx';
import { SideOf, Trader } from './tape.tsx';

/** Trades of several tokens, newest first. Without `isOwn` they are those of one wallet, and have their times instead of their ages. */
export function TradeTable({ trades, isOwn }: { readonly trades: readonly Trade[]; readonly isOwn?: (trade: Trade) => boolean }) {
  const now = useNow();
  return (
    <table>
      <thead>
        <tr>
          <th>{isOwn === undefined ? 'Time' : 'Age'}</th>
          <th>Side</th>
          <th>Token</th>
          <th class="number">
            Size<span class="second-line">Price</span>
          </th>
          <th class="number wide-only">Price</th>
          <th class="number wide-only">Market cap</th>
          {isOwn !== undefined && <th class="wide-only">Trader</th>}
        </tr>
      </thead>
      <tbody>
        {trades.map((trade) => (
          <tr key={trade.id} class={isOwn?.(trade) === true ? 'opens own' : 'opens'} onClick={(event) => openToken(event, trade.mint)}>
            <td class="faint" title={clockTime(trade.ts.received / 1_000)}>
              {isOwn === undefined ? clockTime(trade.ts.received / 1_000) : age(now - trade.ts.received / 1_000)}
            </td>
            <td>
              <SideOf trade={trade} isOwn={isOwn?.(trade) === true} />
            </td>
            <td>
              <TokenLink mint={trade.mint} symbol={nameOf(trade.mint)?.symbol ?? null} size={20} withMint={isOwn === undefined} />
            </td>
            <td class="number">
              {inQuoteCoin(trade.quoteUiAmount, trade.quoteMint)}
              <span class="second-line">{tradePrice(trade)}</span>
            </td>
            <td class="number wide-only">{tradePrice(trade)}</td>
            <td class="number wide-only">{shortUsd(trade.marketCapUsd || null)}</td>
            {isOwn !== undefined && (
              <td class="wide-only">
                <Trader of={trade} isOwn={isOwn(trade)} />
              </td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
