import type { Venue } from '@sluice/venues/seam/venue.ts';
import { batchLimits, tradeBatchEndpoint, type BatchBody } from '@sluice/shared/wire/rest/trading/batch.ts';
import type { PlaceBatch, ReadBatch } from '../../place/batch/place-batch.ts';
import { ofOrder } from '../../place/batch/prepare-bundle.ts';
import { readTradeRequest, type TradeRequest } from '../../prepare/request.ts';
import { wrongFields, type QuoteRefusal } from '../../quote/best-quote.ts';
import { orderEndpoint, type OrderEndpoint } from '../order-call.ts';
import { answerOnce } from './idempotency.ts';

export interface BatchEndpointParts {
  readonly venues: readonly Venue[];
  readonly placeBatch: PlaceBatch;
}

/** `POST /trade/batch`: several orders of custodial wallets in one request. */
export function batchEndpoint({ venues, placeBatch }: BatchEndpointParts): OrderEndpoint {
  return orderEndpoint(tradeBatchEndpoint, (call) => answerOnce(call, tradeBatchEndpoint, readBatch(call.body, venues), placeBatch));
}

function readBatch({ orders, bundle = false }: BatchBody, venues: readonly Venue[]): ReadBatch | QuoteRefusal {
  const requests = orders.map(({ side, ...order }) => readTradeRequest(side, order, venues));
  return bundle ? readBundle(requests) : { kind: 'separate', requests };
}

/** A wrong order refuses the whole bundle. */
function readBundle(orders: readonly (TradeRequest | QuoteRefusal)[]): ReadBatch | QuoteRefusal {
  if (orders.length > batchLimits.bundle) return wrongFields({ orders: `must have at most ${batchLimits.bundle} entries in a bundle` });
  const requests: TradeRequest[] = [];
  for (const [index, request] of orders.entries()) {
    if ('error' in request) return ofOrder(index, request);
    if (request.skipSimulation) return wrongFields({ [`orders.${index}.skipSimulation`]: 'is not possible in a bundle' });
    if (request.dryRun !== (requests[0]?.dryRun ?? request.dryRun))
      return wrongFields({ [`orders.${index}.dryRun`]: 'must be the same for all orders of a bundle' });
    requests.push(request);
  }
  return { kind: 'bundle', requests };
}
