import type { Venue } from '@sluice/shared/venues/venue.ts';
import { tradeBuyEndpoint, tradeSellEndpoint } from '@sluice/shared/wire/rest/trade.ts';
import { bindEndpoint, type BoundEndpoint, type Call, type EndpointAnswer } from '../../http/endpoint.ts';
import type { PlaceOrder } from '../place/place-order.ts';
import { readTradeRequest } from '../prepare/request.ts';
import { answerOf } from './answer.ts';
import { withIdempotency } from './idempotency.ts';

/** `POST /trade/buy` and `/trade/sell`: places an order of a custodial wallet. */
export function tradeEndpoints(placeOrder: PlaceOrder, venues: readonly Venue[]): BoundEndpoint[] {
  const trade = async (
    side: 'buy' | 'sell',
    call: Call<typeof tradeBuyEndpoint> | Call<typeof tradeSellEndpoint>,
  ): Promise<EndpointAnswer<typeof tradeBuyEndpoint>> => {
    const { principal, body } = call;
    if (principal === null) return { error: 'UNAUTHENTICATED' };
    const request = readTradeRequest(side, body, venues);
    if ('error' in request) return request;
    const { id } = side === 'buy' ? tradeBuyEndpoint : tradeSellEndpoint;
    return withIdempotency(call, id, async (use) => answerOf(await placeOrder(principal, request, use), (answer) => answer));
  };
  return [bindEndpoint(tradeBuyEndpoint, (call) => trade('buy', call)), bindEndpoint(tradeSellEndpoint, (call) => trade('sell', call))];
}
