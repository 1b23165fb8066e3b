import { solDecimals } from '@sluice/shared/solana/well-known.ts';
import { toUi } from '@sluice/shared/solana/encoding/amounts.ts';
import { buyLimits } from '@sluice/shared/wire/rest/trading/quote.ts';
import type { SellBody } from '@sluice/shared/wire/rest/trading/trade.ts';
import type { StoredTrigger, TriggerOrder } from '@sluice/gateway/store/trigger-model/trigger.ts';
import type { Venue } from '@sluice/venues/seam/venue.ts';
import { readTradeRequest, type TradeRequest } from '../../prepare/request.ts';
import { partOf, partsPerMillion, rawAmount } from '../../quote/amounts.ts';
import { wrongFields, type QuoteRefusal } from '../../quote/best-quote.ts';
import type { OrderAmount } from '../../quote/order.ts';

const allPpm = 1_000_000n;
const ofTrade = / of trade$/;

/** Parts per million of an amount such as "25% of trade". Null if it has another form. */
function partOfTrade(amount: TriggerOrder['amount']): bigint | null {
  return typeof amount === 'string' && ofTrade.test(amount) ? partsPerMillion(amount.replace(ofTrade, '')) : null;
}

/** The order that a trigger places now, or why it cannot be placed. Its amount depends on what fired the trigger, and on what its parent bought. */
export function tradeRequestOf(
  { terms, progress }: Pick<StoredTrigger, 'terms' | 'progress'>,
  venues: readonly Venue[],
): TradeRequest | QuoteRefusal {
  const { side, amount, maxAmount, mint: named, ...order } = terms.order;
  const { cause, parentAmount } = progress;
  const mint = named ?? cause?.mint;
  if (mint === undefined) return wrongFields({ mint: 'is required, because no trade fired the trigger' });
  const { publicKey } = order;
  const share = partOfTrade(amount);
  // Any valid amount, in the place of the one that replaces it.
  const body = { ...order, mint, amount: share === null ? amount : buyLimits.min };
  // Checked when the trigger was armed.
  const request = readTradeRequest(side, body as SellBody, venues);
  if ('error' in request) return request;
  if (share !== null) {
    if (cause === null) return wrongFields({ amount: 'is a part of a trade, but no trade fired the trigger' });
    const of =
      side === 'buy'
        ? boughtShare(BigInt(cause.quoteAmount), share, maxAmount)
        : soldShare(BigInt(cause.baseAmount), share, publicKey, maxAmount);
    return 'error' in of ? of : { ...request, order: { ...request.order, amount: of } };
  }
  if (side === 'buy' || typeof amount === 'number' || parentAmount === null) return request;
  return { ...request, order: { ...request.order, amount: { kind: 'part', ppm: allPpm, publicKey, most: BigInt(parentAmount) } } };
}

/** What a buy spends of SOL, in the limits of every buy. */
function boughtShare(lamports: bigint, ppm: bigint, maxAmount: number | undefined): OrderAmount | QuoteRefusal {
  const most = maxAmount === undefined ? null : rawAmount(maxAmount, solDecimals, 'SOL');
  if (most?.ok === false) return wrongFields({ maxAmount: most.fault });
  const share = partOf(lamports, ppm);
  const spent = toUi(most !== null && most.raw < share ? most.raw : share, solDecimals);
  if (spent < buyLimits.min || spent > buyLimits.max)
    return wrongFields({ amount: `is ${spent} SOL for this trade, and must be ${buyLimits.min} to ${buyLimits.max} SOL` });
  return { kind: 'coins', of: 'sol', text: spent.toFixed(solDecimals) };
}

/** At most what the wallet has. */
function soldShare(tokens: bigint, ppm: bigint, publicKey: string, maxAmount: number | undefined): OrderAmount {
  const most = partOf(tokens, ppm);
  return { kind: 'part', ppm: allPpm, publicKey, most, ...(maxAmount !== undefined && { mostCoins: maxAmount }) };
}
