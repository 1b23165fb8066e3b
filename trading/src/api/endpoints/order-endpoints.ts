import { orderEndpoint, orderPageEndpoint, orderPageLimits } from '@sluice/shared/wire/rest/trading/trade.ts';
import { bindEndpoint, type BoundEndpoint, type EndpointHandler } from '@sluice/gateway/http/endpoint.ts';
import type { OrderTable } from '@sluice/gateway/store/sql/tables/orders/orders.ts';
import { isOrderId } from '../../model/order-id.ts';
import { ownerOf } from '@sluice/gateway/store/order-model/order.ts';
import { orRefusal } from '../../place/admission/admission.ts';
import { orderObject } from '../../model/order-object.ts';

export interface OrderReads {
  /** Null if the gateway has no store: then there are no orders. */
  readonly orders: Pick<OrderTable, 'byId' | 'page'> | null;
}

/** `GET /trade/orders` and `/trade/orders/{id}`: the orders of the caller, from the store. */
export function orderEndpoints(parts: OrderReads): BoundEndpoint[] {
  return [bindEndpoint(orderEndpoint, readOrder(parts)), bindEndpoint(orderPageEndpoint, listOrders(parts))];
}

function readOrder({ orders }: OrderReads): EndpointHandler<typeof orderEndpoint> {
  return async ({ principal, params: { id } }) => {
    if (principal === null) return { error: 'UNAUTHENTICATED' };
    return orRefusal(async () => {
      const order = isOrderId(id) ? ((await orders?.byId(id)) ?? null) : null;
      // A caller must not learn that an order of another owner exists.
      if (order === null || ownerOf(order) !== ownerOf(principal)) return { error: 'NOT_FOUND', message: 'There is no such order.' };
      return { json: orderObject(order) };
    });
  };
}

function listOrders({ orders }: OrderReads): EndpointHandler<typeof orderPageEndpoint> {
  return async ({ principal, query: { before = null, status = null, limit = orderPageLimits.default } }) => {
    if (principal === null) return { error: 'UNAUTHENTICATED' };
    return orRefusal(async () => {
      // Reads one order more than the page has, to know whether another page follows.
      const found = (await orders?.page({ owner: ownerOf(principal), before, state: status, limit: limit + 1 })) ?? [];
      const shown = found.slice(0, limit);
      return { json: { orders: shown.map(orderObject), next: found.length > limit ? (shown.at(-1)?.id ?? null) : null } };
    });
  };
}
