import { toUi } from '@sluice/shared/solana/encoding/amounts.ts';
import { solDecimals } from '@sluice/shared/solana/well-known.ts';
import { priceImpactBps, slippageBounds } from '@sluice/venues/seam/quoting.ts';
import { chargedFees, feesIn } from '@sluice/venues/seam/fee.ts';
import type { QuoteObject } from '@sluice/shared/wire/rest/trading/quote.ts';
import type { QuotedOrder } from './best-quote.ts';
import type { QuoteRequest } from './order.ts';

/** The fields of a `QuotedOrder` that its answer shows. */
type PricedTrade = Pick<QuotedOrder, 'quote' | 'trade' | 'quoteDecimals'> & {
  readonly market: Pick<QuotedOrder['market'], 'decimals'>;
  readonly pool: Pick<QuotedOrder['pool'], 'quoteMint'>;
};

interface QuoteExtras {
  /** The least that the trader receives, and the most that it gives. Raw amounts. */
  readonly bounds?: { readonly minOut: bigint; readonly maxIn: bigint };
  readonly tipLamports?: bigint;
}

/** The quote of an order in the form that clients receive, with the bounds of its slippage unless others are given. */
export function quoteOfOrder(
  { mint, slippageBps }: Pick<QuoteRequest, 'mint' | 'slippageBps'>,
  { quote, trade, market: { decimals: baseDecimals }, pool: { quoteMint }, quoteDecimals }: PricedTrade,
  { bounds: { minOut, maxIn } = slippageBounds(trade, quote, slippageBps), tipLamports = 0n }: QuoteExtras = {},
): QuoteObject {
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
