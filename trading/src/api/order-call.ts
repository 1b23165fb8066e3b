import type { BodyOf, EndpointSpec, ParamsOf, QueryOf } from '@sluice/shared/wire/rest/endpoint.ts';
import type { EndpointAnswer } from '@sluice/gateway/http/endpoint.ts';
import type { Owner } from '@sluice/gateway/store/order-model/order.ts';

/** A checked and authenticated call of an endpoint for orders. It is plain JSON without secrets, so another gateway can run it. */
export interface OrderCall<E extends EndpointSpec = EndpointSpec> {
  readonly owner: Owner | null;
  /** The header `Idempotency-Key` as it was sent. */
  readonly idempotencyKey: string | null;
  readonly params: ParamsOf<E>;
  readonly query: QueryOf<E>;
  readonly body: BodyOf<E>;
  /** Limit of the caller's plan: triggers that have not ended. 0 without a key. */
  readonly maxTriggers: number;
}

export type OrderAnswer<E extends EndpointSpec = EndpointSpec> = EndpointAnswer<E>;

/** An endpoint for orders, with the code that answers its calls. */
export interface OrderEndpoint {
  readonly spec: EndpointSpec;
  readonly run: (call: OrderCall) => Promise<OrderAnswer>;
}

export function orderEndpoint<E extends EndpointSpec>(spec: E, run: (call: OrderCall<E>) => Promise<OrderAnswer<E>>): OrderEndpoint {
  // Every caller checks the body by the schema of `spec` first.
  return { spec, run };
}
