import type { Bucket } from '@sluice/shared/market/market.ts';
import type { TradeEvent } from '@sluice/shared/wire/events/events.ts';

/**
 * Candles of one mint's trades (in log order), computed directly from the list: for each interval the price before the first trade and after the
 * last one, and the highest and lowest of all prices before and after a trade. All trades count as those of one pool.
 */
export function candlesOf(trades: readonly TradeEvent[], seconds: number): Bucket[] {
  const starts = [...new Set(trades.map((trade) => startOf(trade, seconds)))].sort((a, b) => a - b);
  const priceAfter = priceAfterEach(trades);
  const priceBefore = trades.map((trade, index) => priceBeforeOf(trade, priceAfter[index - 1] ?? unknown));
  return starts.flatMap((startS) => {
    const inside = trades.flatMap((trade, index) => (startOf(trade, seconds) === startS ? [index] : []));
    const all = inside.flatMap((index) => [priceBefore[index]!, priceAfter[index]!]);
    const prices = all.flatMap(({ quote }) => (quote === null ? [] : [quote]));
    const usd = all.flatMap((at) => (at.quote === null || at.usd === null ? [] : [at.usd]));
    if (prices.length === 0) return [];
    const sum = (of: (trade: TradeEvent) => number): number => inside.reduce((total, index) => total + of(trades[index]!), 0);
    return [
      {
        startS,
        open: prices[0]!,
        high: Math.max(...prices),
        low: Math.min(...prices),
        close: prices.at(-1)!,
        openUsd: usd[0] ?? null,
        highUsd: usd.length === 0 ? null : Math.max(...usd),
        lowUsd: usd.length === 0 ? null : Math.min(...usd),
        closeUsd: usd.at(-1) ?? null,
        volumeBase: sum((trade) => trade.tokenAmount),
        volumeQuote: sum((trade) => trade.quoteUiAmount),
        volumeSol: sum((trade) => trade.solAmount ?? worth(trade, trade.priceSol)),
        volumeUsd: sum((trade) => worth(trade, trade.priceUsd)),
        buys: inside.filter((index) => trades[index]!.side === 'buy').length,
        sells: inside.filter((index) => trades[index]!.side === 'sell').length,
      },
    ];
  });
}

/** A trade whose block's time is not known belongs to the second in which it was received. */
export function startOf({ blockTime, ts }: TradeEvent, seconds: number): number {
  return Math.floor((blockTime ?? Math.floor(ts.received / 1_000_000)) / seconds) * seconds;
}

function worth({ quoteUiAmount, priceQuote }: TradeEvent, price: number | null): number {
  return price === null || priceQuote === null ? 0 : quoteUiAmount * (price / priceQuote);
}

interface Price {
  readonly quote: number | null;
  readonly usd: number | null;
}

const unknown: Price = { quote: null, usd: null };

/** The price after each trade, or the previous price if it has none. */
function priceAfterEach(trades: readonly TradeEvent[]): readonly Price[] {
  let last = unknown;
  return trades.map(({ priceQuote, priceUsd }) => {
    if (priceQuote !== null) last = { quote: priceQuote, usd: priceUsd };
    return last;
  });
}

/** As the trade shows it, or else the price after the previous trade. In USD at the rate of this trade, unless it is the previous price. */
function priceBeforeOf({ priceQuote, priceUsd, priceQuoteBefore }: TradeEvent, last: Price): Price {
  if (priceQuote === null) return unknown;
  const quote = priceQuoteBefore ?? last.quote;
  if (quote === null || priceUsd === null) return { quote, usd: null };
  return { quote, usd: quote === last.quote && last.usd !== null ? last.usd : quote * (priceUsd / priceQuote) };
}
