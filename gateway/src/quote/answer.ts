import { toUi } from '@sluice/shared/solana/amounts.ts';
import { solDecimals } from '@sluice/shared/solana/well-known.ts';
import { priceImpactBps, type Quote } from '@sluice/shared/venues/quoting.ts';
import { feeOfKind, feesInBase } from '@sluice/shared/venues/fee.ts';
import type { FeeKind } from '@sluice/shared/venues/venue.ts';
import type { QuoteObject } from '@sluice/shared/wire/rest/quote.ts';

export interface QuoteTerms {
  readonly quote: Quote;
  /** Least to get and most to give. */
  readonly bounds: { readonly minOut: bigint; readonly maxIn: bigint };
  readonly baseDecimals: number;
  readonly quoteDecimals: number;
  /** Lamports; 0 where there is none. */
  readonly tipLamports?: bigint;
}

/** A quote as clients read it. */
export function quoteObject({ quote, bounds: { minOut, maxIn }, baseDecimals, quoteDecimals, tipLamports = 0n }: QuoteTerms): QuoteObject {
  const isBuy = quote.side === 'buy';
  const [inDecimals, outDecimals] = isBuy ? [quoteDecimals, baseDecimals] : [baseDecimals, quoteDecimals];
  const [inAmount, outAmount] = isBuy ? [quote.traderQuote, quote.baseAmount] : [quote.baseAmount, quote.traderQuote];
  const { fees, baseAmount, quoteAmount } = quote;
  const ofBase = feesInBase(fees);
  // Fees that are charged in the token are stated in the quote coin, at the rate of this trade.
  const inQuote = (amount: bigint): bigint => (amount * quoteAmount) / (baseAmount - ofBase);
  const feeTotal = quote.feeTotal + (ofBase === 0n ? 0n : inQuote(ofBase));
  const fee = (kind: FeeKind): { readonly amount: string; readonly bps: number } => {
    const { amount, bps } = feeOfKind(fees, kind);
    const isOfBase = fees.some((one) => one.kind === kind && one.coin === 'base');
    return { amount: String(isOfBase ? inQuote(amount) : amount), bps };
  };
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
    fees: {
      protocol: fee('protocol'),
      creator: fee('creator'),
      lp: fee('lp'),
      cashback: fee('cashback'),
      holderRewards: fee('holderRewards'),
      buyback: fee('buyback'),
      total: String(feeTotal),
      decimals: quoteDecimals,
      totalUi: toUi(feeTotal, quoteDecimals),
      ...(tipLamports === 0n ? {} : { tip: String(tipLamports), tipUi: toUi(tipLamports, solDecimals) }),
    },
  };
}
