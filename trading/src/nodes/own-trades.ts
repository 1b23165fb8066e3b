import type { TransactionView } from '@sluice/shared/solana/transaction/inner-events.ts';
import { decodeEvents } from '@sluice/venues/seam/decode-data.ts';
import { venueByProgram } from '@sluice/venues/registry.ts';
import { feesIn } from '@sluice/venues/seam/fee.ts';
import type { Venue, VenueTrade } from '@sluice/venues/seam/venue.ts';

/** Which trades are those of an order. */
export interface TradeTerms {
  readonly trader: string;
  readonly side: 'buy' | 'sell';
  readonly mint: string;
  readonly poolAddress: string;
}

/** The sum of an order's trades, because a router may split a trade. Raw amounts. */
export interface OwnTrades {
  readonly venue: Venue;
  /** What the trader received or gave of the coin, with the fees in it. */
  readonly baseAmount: bigint;
  /** The amount through the pool. */
  readonly quoteAmount: bigint;
  /** Fees in the quote coin. */
  readonly fees: bigint;
}

/** The trades of these terms in a transaction. Null if there is none; a text says why they cannot be read. */
export function ownTradesIn(view: TransactionView, terms: TradeTerms): OwnTrades | string | null {
  const emitted = decodeEvents(view, venueByProgram);
  if (typeof emitted === 'string') return emitted;
  const own = emitted.flatMap(({ venue, event }) => {
    const amounts = event.type === 'trade' ? amountsOf(event, terms) : null;
    return amounts === null ? [] : [{ venue, ...amounts }];
  });
  const [first, ...others] = own;
  if (first === undefined) return null;
  return others.reduce<OwnTrades>((sum, { venue, baseAmount, quoteAmount, fees }) => {
    return { venue, baseAmount: sum.baseAmount + baseAmount, quoteAmount: sum.quoteAmount + quoteAmount, fees: sum.fees + fees };
  }, first);
}

/** The program may have the coin of the order as its quote coin. Null if it is another trade. */
function amountsOf(trade: VenueTrade, { trader, side, mint, poolAddress }: TradeTerms): Omit<OwnTrades, 'venue'> | null {
  const { pair, baseAmount, quoteAmount, fees, feeTotal } = trade;
  if (pair !== null && pair.baseMint !== mint && pair.quoteMint !== mint) return null;
  const isFlipped = pair?.quoteMint === mint;
  if (trade.trader !== trader || trade.pool !== poolAddress || (trade.side === side) === isFlipped) return null;
  const ofCoin = feesIn(isFlipped ? 'quote' : 'base', fees);
  const through = isFlipped ? quoteAmount : baseAmount;
  return {
    baseAmount: side === 'buy' ? through - ofCoin : through + ofCoin,
    quoteAmount: isFlipped ? baseAmount : quoteAmount,
    fees: isFlipped ? feesIn('base', fees) : feeTotal,
  };
}
