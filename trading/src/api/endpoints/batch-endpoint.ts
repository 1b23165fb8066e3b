import type { Venue } from '@sluice/venues/seam/venue.ts';
import { tradeBatchEndpoint } from '@sluice/shared/wire/rest/trading/batch.ts';
import type { PlaceBatch } from '../../place/batch/place-batch.ts';
import { readTradeRequest } from '../../prepare/request.ts';
import { orderEndpoint, type OrderEndpoint } from '../order-call.ts';
import { answerOnce } from './idempotency.ts';

export interface BatchEndpointParts {
  readonly venues: readonly Venue[];
  readonly placeBatch: PlaceBatch;
}

/** `POST /trade/batch`: several orders of custodial wallets in one request. */
export function batchEndpoint({ venues, placeBatch }: BatchEndpointParts): OrderEndpoint {
  return orderEndpoint(tradeBatchEndpoint, (call) => {
    const requests = call.body.orders.map(({ side, ...order }) => readTradeRequest(side, order, venues));
    return answerOnce(call, tradeBatchEndpoint, requests, placeBatch);
  });
}
