import type { Venue } from '@sluice/venues/seam/venue.ts';
import { tradeBuyEndpoint, tradeSellEndpoint } from '@sluice/shared/wire/rest/trade.ts';
import type { PlaceOrder } from '../../place/place-order.ts';
import { readTradeRequest } from '../../prepare/request.ts';
import { answerOf } from './answer.ts';
import { withIdempotency } from './idempotency.ts';
import { orderEndpoint, type OrderAnswer, type OrderCall, type OrderEndpoint } from '../order-call.ts';

/** `POST /trade/buy` and `/trade/sell`: places an order of a custodial wallet. */
export function tradeEndpoints(placeOrder: PlaceOrder, venues: readonly Venue[]): OrderEndpoint[] {
  const trade = async (
    side: 'buy' | 'sell',
    call: OrderCall<typeof tradeBuyEndpoint> | OrderCall<typeof tradeSellEndpoint>,
  ): Promise<OrderAnswer<typeof tradeBuyEndpoint>> => {
    const { owner, body } = call;
    if (owner === null) return { error: 'UNAUTHENTICATED' };
    const request = readTradeRequest(side, body, venues);
    if ('error' in request) return request;
    const { id } = side === 'buy' ? tradeBuyEndpoint : tradeSellEndpoint;
    return withIdempotency(call, id, async (use) => answerOf(await placeOrder(owner, request, use)));
  };
  return [orderEndpoint(tradeBuyEndpoint, (call) => trade('buy', call)), orderEndpoint(tradeSellEndpoint, (call) => trade('sell', call))];
}
