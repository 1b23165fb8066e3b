import type { QuoteAnswer } from '@sluice/client';
import { useEffect, useState } from 'preact/hooks';
import { sluice } from '../state/server.ts';
import { price, short } from '../format/price.ts';
import { inQuoteCoin } from '../format/quote-coin.ts';
import { amountFor, type Side } from './amounts.ts';
import { orderFault } from './order-fault.ts';

const quoteAfterMs = 500;
/** A smaller number is meant as quote coins to spend; sold as tokens it would give nothing. */
const fewestTokens = 1;

interface Shown {
  readonly side: Side;
  readonly quote: QuoteAnswer | null;
  readonly fault: string | null;
}

/** What a buy and a sell of this amount would give now. */
export function Quotes(props: { mint: string; symbol: string; amount: string; slippage: string; publicKey: string }) {
  const { mint, symbol, amount, slippage, publicKey } = props;
  const [shown, setShown] = useState<readonly Shown[]>([]);
  useEffect(() => {
    const ended = new AbortController();
    const ask = async (side: Side): Promise<Shown | null> => {
      const of = amountFor(side, amount);
      if (of === null) return null;
      if (side === 'sell' && (publicKey === '' || (typeof of === 'number' && of < fewestTokens))) return null;
      const body = { side, mint, amount: of, slippage: Number(slippage), ...(side === 'sell' && { publicKey }) };
      try {
        return { side, quote: await sluice.quote(body, { signal: ended.signal }), fault: null };
      } catch (error) {
        return { side, quote: null, fault: orderFault(error) };
      }
    };
    const read = async (): Promise<void> => {
      const asked = amount.includes('%') ? (['sell'] as const) : (['buy', 'sell'] as const);
      const answers = await Promise.all(asked.map(ask));
      if (!ended.signal.aborted) setShown(answers.filter((one) => one !== null));
    };
    const timer = setTimeout(() => void read(), quoteAfterMs);
    return () => {
      ended.abort();
      clearTimeout(timer);
    };
  }, [mint, amount, slippage, publicKey]);
  return (
    <dl class="quotes" aria-live="polite" aria-label="Quote">
      {shown.map(({ side, quote, fault }) => (
        <div key={side}>
          <dt class={side}>{side === 'buy' ? 'Buy' : 'Sell'}</dt>
          {quote === null ? (
            <dd class="faint">{fault}</dd>
          ) : (
            <dd>
              {side === 'buy'
                ? `${inQuoteCoin(quote.quote.inUiAmount, quote.quoteMint)} → ${short(quote.quote.outUiAmount)} ${symbol}`
                : `${short(quote.quote.inUiAmount)} ${symbol} → ${inQuoteCoin(quote.quote.outUiAmount, quote.quoteMint)}`}
              <small class="faint">
                at {price(quote.quote.price)}, impact {quote.quote.priceImpactPct} %, fees{' '}
                {inQuoteCoin(quote.quote.feeTotalUi, quote.quoteMint)}
              </small>
            </dd>
          )}
        </div>
      ))}
    </dl>
  );
}
