import { toUi } from '@sluice/shared/solana/encoding/amounts.ts';
import { base64Of } from '@sluice/shared/solana/encoding/bytes.ts';
import { solDecimals } from '@sluice/shared/solana/well-known.ts';
import type { Venue } from '@sluice/venues/seam/venue.ts';
import {
  tradeBuyEndpoint,
  tradeSellEndpoint,
  transactionBuyEndpoint,
  transactionSellEndpoint,
  transactionSendEndpoint,
  type BuyBody,
  type SellBody,
} from '@sluice/shared/wire/rest/trading/trade.ts';
import { orRefusal } from '../../place/admission/admission.ts';
import type { PlaceOrder } from '../../place/place-order.ts';
import type { SendSigned } from '../../place/send-signed.ts';
import { orderTerms, rounded, termsJson, tradedQuote } from '../../place/trade-answer.ts';
import { readTradeRequest } from '../../prepare/request.ts';
import { checkedTrade, expiresInSeconds, unsignedWire, type CheckParts } from '../../prepare/checked-trade.ts';
import { answerOnce } from './idempotency.ts';
import { orderEndpoint, type OrderAnswer, type OrderEndpoint } from '../order-call.ts';

export interface TradeParts extends CheckParts {
  readonly venues: readonly Venue[];
  readonly placeOrder: PlaceOrder;
  readonly sendSigned: SendSigned;
}

/**
 * `POST /trade/buy` and `/trade/sell` place an order of a custodial wallet. `/transaction/buy` and `/transaction/sell` return a transaction that
 * the caller signs; `/transaction/send` sends it.
 */
export function tradeEndpoints(parts: TradeParts): OrderEndpoint[] {
  const { venues, placeOrder, sendSigned } = parts;
  return [
    orderEndpoint(tradeBuyEndpoint, (call) => answerOnce(call, tradeBuyEndpoint, readTradeRequest('buy', call.body, venues), placeOrder)),
    orderEndpoint(tradeSellEndpoint, (call) =>
      answerOnce(call, tradeSellEndpoint, readTradeRequest('sell', call.body, venues), placeOrder),
    ),
    orderEndpoint(transactionBuyEndpoint, ({ body }) => unsigned('buy', body, parts)),
    orderEndpoint(transactionSellEndpoint, ({ body }) => unsigned('sell', body, parts)),
    orderEndpoint(transactionSendEndpoint, (call) => {
      const { transaction, skipSimulation = false } = call.body;
      const signed = { wire: new Uint8Array(Buffer.from(transaction, 'base64')), skipSimulation };
      return answerOnce(call, transactionSendEndpoint, signed, sendSigned);
    }),
  ];
}

async function unsigned(
  side: 'buy' | 'sell',
  body: BuyBody | SellBody,
  parts: TradeParts,
): Promise<OrderAnswer<typeof transactionBuyEndpoint>> {
  const startedMs = performance.now();
  const request = readTradeRequest(side, body, parts.venues);
  if ('error' in request) return request;
  return orRefusal(async () => {
    const checked = await checkedTrade(request, parts);
    if ('error' in checked) return checked;
    const { prepared, simulation, timing } = checked;
    const { built, blockhash, priorityFeeLamports } = prepared;
    return {
      json: {
        transaction: base64Of(unsignedWire(prepared)),
        ...termsJson(orderTerms(request, prepared)),
        quote: tradedQuote(request, prepared),
        blockhash: blockhash.blockhash,
        lastValidBlockHeight: blockhash.lastValidBlockHeight,
        expiresInSeconds: expiresInSeconds(prepared, parts),
        computeUnitLimit: built.computeUnitLimit,
        priorityFee: String(priorityFeeLamports),
        priorityFeeUi: toUi(priorityFeeLamports, solDecimals),
        simulation,
        timing: rounded({ totalMs: performance.now() - startedMs, ...timing }),
      },
    };
  });
}
