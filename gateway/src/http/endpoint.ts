import type { ErrorCode } from '@sluice/shared/errors/codes.ts';
import type { AnswerOf, BodyOf, EndpointSpec, ParamsOf, QueryOf } from '@sluice/shared/wire/rest/endpoint.ts';
import type { Principal } from '../auth/principal.ts';
import type { HttpRequest } from '../transport/transport.ts';

/** A request that was let in: its parts are of the endpoint's schemas, the key is good, and its limit was taken from. */
export interface Call<E extends EndpointSpec> {
  readonly request: HttpRequest;
  readonly params: ParamsOf<E>;
  readonly query: QueryOf<E>;
  readonly body: BodyOf<E>;
  /** Always null for an endpoint with access `open`. */
  readonly principal: Principal | null;
}

/** What an endpoint answers. `json` is encoded by the wrapper; `jsonBytes` is sent as it is; `file` is anything but JSON. */
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
  | {
      readonly error: ErrorCode;
      readonly message?: string;
      readonly details?: Readonly<Record<string, unknown>>;
      readonly retryAfterSeconds?: number;
    };

/** Expected outcomes are values; a throw is answered 500 and logged. May answer at once: then no promise is made. */
export type EndpointHandler<E extends EndpointSpec> = (call: Call<E>) => EndpointAnswer<E> | Promise<EndpointAnswer<E>>;

/** An endpoint with the code behind it. */
export interface BoundEndpoint {
  readonly spec: EndpointSpec;
  readonly handler: EndpointHandler<EndpointSpec>;
}

export function bindEndpoint<E extends EndpointSpec>(spec: E, handler: EndpointHandler<E>): BoundEndpoint {
  // The wrapper calls it only with what the schemas of `spec` let pass.
  return { spec, handler };
}
