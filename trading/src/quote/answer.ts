import { toUi } from '@sluice/shared/solana/encoding/amounts.ts';
import { solDecimals } from '@sluice/shared/solana/well-known.ts';
import { priceImpactBps, slippageBounds, type Quote } from '@sluice/venues/seam/quoting.ts';
import { chargedFees, feesIn } from '@sluice/venues/seam/fee.ts';
import type { QuoteObject } from '@sluice/shared/wire/rest/quote.ts';
import type { QuotedOrder } from './best-quote.ts';
import type { QuoteRequest } from './order.ts';

export interface QuoteTerms {
  readonly quote: Quote;
  /** The least that the trader receives, and the most that it gives. Raw amounts. */
  readonly bounds: { readonly minOut: bigint; readonly maxIn: bigint };
  readonly mint: string;
  readonly quoteMint: string;
  readonly baseDecimals: number;
  readonly quoteDecimals: number;
  /** Lamports; 0 if there is no tip. */
  readonly tipLamports?: bigint;
}

/** The quote of an order in the form that clients receive, with the bounds of its slippage unless others are given. */
export function quoteOfOrder(
  { mint, slippageBps }: Pick<QuoteRequest, 'mint' | 'slippageBps'>,
  { quote, trade, market, pool, quoteDecimals }: QuotedOrder,
  { bounds = slippageBounds(trade, quote, slippageBps), tipLamports = 0n }: Partial<Pick<QuoteTerms, 'bounds' | 'tipLamports'>> = {},
): QuoteObject {
  const { decimals: baseDecimals } = market;
  return quoteObject({ quote, bounds, mint, quoteMint: pool.quoteMint, baseDecimals, quoteDecimals, tipLamports });
}

/** A quote in the form that clients receive. */
export function quoteObject(terms: QuoteTerms): QuoteObject {
  const { quote, mint, quoteMint, baseDecimals, quoteDecimals, tipLamports = 0n } = terms;
  const { minOut, maxIn } = terms.bounds;
  const isBuy = quote.side === 'buy';
  const [inDecimals, outDecimals] = isBuy ? [quoteDecimals, baseDecimals] : [baseDecimals, quoteDecimals];
  const [inAmount, outAmount] = isBuy ? [quote.traderQuote, quote.baseAmount] : [quote.baseAmount, quote.traderQuote];
  const { fees, baseAmount, quoteAmount } = quote;
  const ofBase = feesIn('base', fees);
  // A fee in the token counts in the quote coin, at the rate of this trade.
  const feeTotal = quote.feeTotal + (ofBase === 0n ? 0n : (ofBase * quoteAmount) / (baseAmount - ofBase));
  return {
    inAmount: String(inAmount),
    inDecimals,
    inUiAmount: toUi(inAmount, inDecimals),
    outAmount: String(outAmount),
    outDecimals,
    outUiAmount: toUi(outAmount, outDecimals),
    minOut: String(minOut),
    minOutUiAmount: toUi(minOut, outDecimals),
    maxIn: String(maxIn),
    maxInUiAmount: toUi(maxIn, inDecimals),
    price: toUi(quote.traderQuote, quoteDecimals) / toUi(quote.baseAmount, baseDecimals),
    priceImpactPct: priceImpactBps(quote) / 100,
    fees: chargedFees(fees, mint, quoteMint),
    feeTotal: String(feeTotal),
    feeTotalUi: toUi(feeTotal, quoteDecimals),
    ...(tipLamports === 0n ? {} : { tip: String(tipLamports), tipUi: toUi(tipLamports, solDecimals) }),
  };
}
