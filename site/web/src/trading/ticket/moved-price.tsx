import type { OrderWish } from './confirm-order.tsx';
import type { SideQuote } from './live-quotes.ts';
import { QuoteAge, TradeLine } from './quotes.tsx';
import type { ShownQuote } from './screen-quotes.ts';

/** The market has left the quote of a refused order: what was shown, what it is now, and a button that takes the new quote. */
export function MovedPrice(props: {
  readonly wish: OrderWish;
  readonly quote: SideQuote;
  readonly disabled: boolean;
  readonly onTake: () => void;
}) {
  const { wish, quote, disabled, onTake } = props;
  const { side, symbol, shown: before, body } = wish;
  const { shown: now } = quote;
  return (
    <div class="warn moved">
      <p>
        {before !== null && (
          <>
            Shown: <TradeLine side={side} shown={before} symbol={symbol} />.{' '}
          </>
        )}
        {now === null ? (
          'Waiting for the new quote …'
        ) : (
          <>
            Now:{' '}
            <b>
              <TradeLine side={side} shown={now} symbol={symbol} />
            </b>
            {before !== null && `, ${changeText(before, now)}`}, <QuoteAge shown={now} />.
          </>
        )}
      </p>
      <button type="button" class={body.dryRun === true ? '' : side} disabled={disabled || now === null} onClick={onTake}>
        {body.dryRun === true ? 'Simulate' : side === 'buy' ? 'Buy' : 'Sell'} at the new quote
      </button>
    </div>
  );
}

/** How much less, or more, one unit gives. */
function changeText({ quote: before }: ShownQuote, { quote: now }: ShownQuote): string {
  const ratio = now.outUiAmount / now.inUiAmount / (before.outUiAmount / before.inUiAmount);
  const percent = Math.abs(ratio - 1) * 100;
  return `${percent.toFixed(percent < 10 ? 1 : 0)} % ${ratio < 1 ? 'less' : 'more'}`;
}
