import type { Bucket } from '@sluice/shared/market/market.ts';
import type { TradeEvent } from '@sluice/shared/wire/events/events.ts';

/**
 * Candles of one mint's trades (in chain order), computed directly from the list: for each interval the price before its first slot and that of its
 * last one, and the highest and lowest price of its slots. All trades count as those of one pool.
 */
export function candlesOf(trades: readonly TradeEvent[], seconds: number): Bucket[] {
  const starts = [...new Set(trades.map((trade) => startOf(trade, seconds)))].sort((a, b) => a - b);
  const slots = slotsOf(trades);
  return starts.flatMap((startS) => {
    const inside = trades.filter((trade) => startOf(trade, seconds) === startS);
    const all = slots.flatMap((one) => (startOf(one.trade, seconds) === startS ? [one.open, one.counted] : []));
    const prices = all.flatMap(({ quote }) => (quote === null ? [] : [quote]));
    const usd = all.flatMap((at) => (at.quote === null || at.usd === null ? [] : [at.usd]));
    if (prices.length === 0) return [];
    const sum = (of: (trade: TradeEvent) => number): number => inside.reduce((total, trade) => total + of(trade), 0);
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
        buys: inside.filter(({ side }) => side === 'buy').length,
        sells: inside.filter(({ side }) => side === 'sell').length,
      },
    ];
  });
}

interface SlotOf {
  readonly trade: TradeEvent;
  readonly before: Price;
  readonly after: Price;
}

/** The slots with trades, as far as a price is known, each with the price that counts for it, and the one at which it opens. */
function slotsOf(trades: readonly TradeEvent[]): readonly { readonly trade: TradeEvent; readonly open: Price; readonly counted: Price }[] {
  const slots: SlotOf[] = [];
  let last = unknown;
  for (const trade of trades) {
    const known = slots.at(-1)?.trade.slot === trade.slot ? slots.pop()! : null;
    const isOwn = trade.priceQuote !== null;
    const before = known !== null && known.before !== unknown ? known.before : isOwn ? priceBeforeOf(trade, last) : unknown;
    if (isOwn) last = { quote: trade.priceQuote, usd: trade.priceUsd };
    if (last.quote !== null) slots.push({ trade, before, after: last });
  }
  let previous: { readonly slot: number; readonly after: Price; readonly counted: Price } | null = null;
  return slots.map(({ trade, before, after }, index) => {
    const next = slots[index + 1];
    const shown = before.quote === null ? null : before;
    const middle = [shown ?? previous?.after ?? after, after, next?.after ?? after].toSorted((a, b) => a.quote! - b.quote!)[1]!;
    const counted = next !== undefined && next.trade.slot === trade.slot + 1 ? middle : after;
    const open = previous?.slot === trade.slot - 1 ? previous.counted : (shown ?? previous?.counted ?? unknown);
    previous = { slot: trade.slot, after, counted };
    return { trade, open, counted };
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

/** As the trade shows it, or else the price after the previous trade. In USD at the rate of this trade, unless it is the previous price. */
function priceBeforeOf({ priceQuote, priceUsd, priceQuoteBefore }: TradeEvent, last: Price): Price {
  if (priceQuote === null) return unknown;
  const quote = priceQuoteBefore ?? last.quote;
  if (quote === null || priceUsd === null) return { quote, usd: null };
  return { quote, usd: quote === last.quote && last.usd !== null ? last.usd : quote * (priceUsd / priceQuote) };
}
