import type { Bucket } from '@sluice/shared/market/market.ts';
import type { TradeEvent } from '@sluice/shared/wire/events.ts';

/**
 * Candles of one mint's trades (in log order), computed directly from the list: for each interval the first, last, highest and lowest
 * price. All trades count as those of one pool.
 */
export function candlesOf(trades: readonly TradeEvent[], seconds: number): Bucket[] {
  const starts = [...new Set(trades.map((trade) => startOf(trade, seconds)))].sort((a, b) => a - b);
  const priceAfter = priceAfterEach(trades);
  return starts.flatMap((startS) => {
    const inside = trades.flatMap((trade, index) => (startOf(trade, seconds) === startS ? [{ trade, at: priceAfter[index]! }] : []));
    const prices = inside.flatMap(({ at }) => (at.quote === null ? [] : [at.quote]));
    const usd = inside.flatMap(({ at }) => (at.quote === null || at.usd === null ? [] : [at.usd]));
    if (prices.length === 0) return [];
    const sum = (of: (trade: TradeEvent) => number): number => inside.reduce((total, { trade }) => total + of(trade), 0);
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
        buys: inside.filter(({ trade }) => trade.side === 'buy').length,
        sells: inside.filter(({ trade }) => trade.side === 'sell').length,
      },
    ];
  });
}

function startOf(trade: TradeEvent, seconds: number): number {
  return Math.floor(trade.blockTime! / seconds) * seconds;
}

function worth({ quoteUiAmount, priceQuote }: TradeEvent, price: number | null): number {
  return price === null || priceQuote === null ? 0 : quoteUiAmount * (price / priceQuote);
}

/** The price after each trade, or the previous price if it has none. */
function priceAfterEach(trades: readonly TradeEvent[]): { readonly quote: number | null; readonly usd: number | null }[] {
  let last: { readonly quote: number | null; readonly usd: number | null } = { quote: null, usd: null };
  return trades.map(({ priceQuote, priceUsd }) => {
    if (priceQuote !== null) last = { quote: priceQuote, usd: priceUsd };
    return last;
  });
}
