import type { AnswerOf, BodyOf, EndpointSpec, ParamsOf, QueryOf } from '@sluice/shared/wire/rest/endpoint.ts';
import type { Principal } from '../auth/principal.ts';
import type { HttpRequest } from '../transport/transport.ts';
import type { Refusal } from './answers.ts';

/** An accepted request: its parts match the schemas of the endpoint, the key is valid, and the request was counted. */
export interface Call<E extends EndpointSpec> {
  readonly request: HttpRequest;
  readonly params: ParamsOf<E>;
  readonly query: QueryOf<E>;
  readonly body: BodyOf<E>;
  /** Always null for an endpoint with access `open`. */
  readonly principal: Principal | null;
}

/** The answer of an endpoint. `json` is encoded by the wrapper; `jsonBytes` is sent unchanged; `file` is any other content. */
export type EndpointAnswer<E extends EndpointSpec> =
  | { readonly json: AnswerOf<E>; readonly headers?: Readonly<Record<string, string>> }
  | { readonly jsonBytes: string | Uint8Array }
  | {
      readonly file: {
        readonly contentType: string;
        readonly body: string | Uint8Array;
        readonly headers: Readonly<Record<string, string>>;
      };
    }
  | Refusal;

/** Returns expected outcomes as values. If it throws, the answer is 500 and the error is logged. It may return without a promise. */
export type EndpointHandler<E extends EndpointSpec> = (call: Call<E>) => EndpointAnswer<E> | Promise<EndpointAnswer<E>>;

/** An endpoint with its handler. */
export interface BoundEndpoint {
  readonly spec: EndpointSpec;
  readonly handler: EndpointHandler<EndpointSpec>;
}

export function bindEndpoint<E extends EndpointSpec>(spec: E, handler: EndpointHandler<E>): BoundEndpoint {
  // The wrapper calls it only with values that passed the schemas of `spec`.
  return { spec, handler };
}
