import { short, price } from '../../format/price.ts';
import { inQuoteCoin, quoteSymbol } from '../../format/quote-coin.ts';
import { useNow } from '../../parts/hooks.ts';
import { Button } from '../../parts/parts.tsx';
import type { Side } from './amounts.ts';
import type { OrderWish } from './confirm-order.tsx';
import type { LiveQuotes, SideQuote } from './live-quotes.ts';
import type { ShownQuote } from './screen-quotes.ts';

const ageEveryMs = 200;
/** An older quote is marked. */
const freshMs = 1_500;

/** What a buy and a sell of this amount would give now. It changes all the time, so screen readers do not announce it. */
export function Quotes(props: { readonly quotes: LiveQuotes; readonly symbol: string }) {
  const { quotes, symbol } = props;
  return (
    <dl class="quotes" aria-label="Quote">
      {(['buy', 'sell'] as const).map((side) => {
        const { shown, fault } = quotes[side];
        if (shown === null && fault === null) return null;
        return (
          <div key={side}>
            <dt class={side}>{side === 'buy' ? 'Buy' : 'Sell'}</dt>
            <dd>
              {shown !== null && <QuoteLine side={side} shown={shown} symbol={symbol} />}
              {fault !== null && <small class={shown === null ? 'faint' : 'warn'}>{fault}</small>}
            </dd>
          </div>
        );
      })}
    </dl>
  );
}

function QuoteLine({ side, shown, symbol }: { readonly side: Side; readonly shown: ShownQuote; readonly symbol: string }) {
  const { quote, quoteMint } = shown;
  return (
    <>
      <span>
        <TradeLine side={side} shown={shown} symbol={symbol} />
      </span>
      <small class="faint">
        at {price(quote.price)} {quoteSymbol(quoteMint)}, impact {quote.priceImpactPct} %, fees {inQuoteCoin(quote.feeTotalUi, quoteMint)}
      </small>
      <small class="faint">
        at least <Received side={side} amount={quote.minOutUiAmount} quoteMint={quoteMint} symbol={symbol} />, <QuoteAge shown={shown} />
      </small>
    </>
  );
}

/** `0.1 SOL → 3.49M SIM`. */
function TradeLine({ side, shown, symbol }: { readonly side: Side; readonly shown: ShownQuote; readonly symbol: string }) {
  const { quote, quoteMint } = shown;
  const other = side === 'buy' ? 'sell' : 'buy';
  return (
    <>
      <Received side={other} amount={quote.inUiAmount} quoteMint={quoteMint} symbol={symbol} />
      {' → '}
      <Received side={side} amount={quote.outUiAmount} quoteMint={quoteMint} symbol={symbol} />
    </>
  );
}

/** An amount of what a trade on this side gives: tokens for a buy, quote coins for a sell. */
export function Received(props: { readonly side: Side; readonly amount: number; readonly quoteMint: string; readonly symbol: string }) {
  const { side, amount, quoteMint, symbol } = props;
  if (side === 'sell') return <>{inQuoteCoin(amount, quoteMint)}</>;
  return (
    <>
      {short(amount)} <bdi>{symbol}</bdi>
    </>
  );
}

export function QuoteAge({ shown: { readAtMs } }: { readonly shown: ShownQuote }) {
  useNow(ageEveryMs);
  const ageMs = Math.max(0, performance.now() - readAtMs);
  return <span class={ageMs > freshMs ? 'warn' : ''}>{(ageMs / 1_000).toFixed(1)} s old</span>;
}

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
      <Button class={body.dryRun === true ? '' : side} disabled={disabled || now === null} onClick={onTake}>
        {body.dryRun === true ? 'Simulate' : side === 'buy' ? 'Buy' : 'Sell'} at the new quote
      </Button>
    </div>
  );
}

/** How much less, or more, one unit gives. */
function changeText({ quote: before }: ShownQuote, { quote: now }: ShownQuote): string {
  const ratio = now.outUiAmount / now.inUiAmount / (before.outUiAmount / before.inUiAmount);
  const percent = Math.abs(ratio - 1) * 100;
  return `${percent.toFixed(percent < 10 ? 1 : 0)} % ${ratio < 1 ? 'less' : 'more'}`;
}
