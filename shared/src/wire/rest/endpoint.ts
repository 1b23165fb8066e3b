import type { Static, TObject, TSchema } from 'typebox';
import type { ErrorCode } from '../errors.ts';
import type { Scope } from '../values/plans.ts';

/**
 * Who may call an endpoint: `open` (everyone), `key` (any valid API key), or keys with this scope. In addition, a plan can exclude an
 * endpoint by its `id`.
 */
export type Access = 'open' | 'key' | Scope;

/** Requests of one address without a key, on one gateway, to the endpoints that are `keyless`. */
export const keylessQuota = { perMinute: 100, burst: 100 } as const;

/** Header of an unsigned transaction: whole seconds in which it can still land. */
export const expiryHeader = 'X-Expires-In-Seconds';

export const maxIdempotencyKeyChars = 255;

/** A deprecated endpoint works until its sunset; headers (RFC 9745, RFC 8594) and documents follow from this. */
export interface Deprecation {
  /** First day of the deprecation, `2026-11-21`. */
  readonly since: string;
  /** The day from which it may be removed, at least 90 days later. */
  readonly sunset: string;
  /** Path of its replacement; null if there is none. */
  readonly successor: string | null;
}

/** One endpoint of the HTTP API. Routing, checks, OpenAPI and the documents are all made from it. */
export interface EndpointSpec {
  /** The `operationId`, camelCase; plans name endpoints by it. */
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** `/token/info/{mint}`: a parameter is one whole segment. */
  readonly path: string;
  /** The endpoint is also served at `/api` + path. */
  readonly withApiPrefix: boolean;
  readonly access: Access;
  /** It needs no key while PUMPPORTAL_KEYLESS is on. Only for what spends nothing and shows nobody's data. */
  readonly keyless?: true;
  /** Requests of the dashboard's page do not count against the limit of its key, but against this one, for each key. */
  readonly pageQuota?: { readonly perMinute: number; readonly burst: number };
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** Schemas of the parameters in the path and the query. They are strings, which are checked and then converted (for example by `readInteger`). */
  readonly params?: TObject;
  readonly query?: TObject;
  /** Schema of the JSON body. Unknown fields are refused. */
  readonly body?: TObject;
  /** The body may also be `application/x-www-form-urlencoded`. All values are then strings, so `body` must allow strings. */
  readonly form?: true;
  /** The body may also be a list of such bodies, if the plan of the key has `batch`. */
  readonly batch?: {
    readonly max: number;
    /** Fields that only the first body of a list must have. */
    readonly firstRequires: readonly string[];
    /** JSON of the answer 200 to a list. */
    readonly answer: TSchema;
  };
  /** Each entry of this list in the body counts as one request. */
  readonly countsEach?: string;
  /** For PumpPortal's clients: the body of an error also has `errors`, a list of strings, and unknown parameters of the query are ignored. */
  readonly dialect?: true;
  /** The endpoint accepts an `Idempotency-Key`. */
  readonly idempotent?: true;
  /** JSON of the answer 200; null if it is not JSON but `contentType`. */
  readonly answer: TSchema | null;
  readonly contentType?: string;
  /** Headers of the answer 200 that only this endpoint has; `openapi/headers.ts` describes them. */
  readonly answerHeaders?: readonly string[];
  /** Error codes of this endpoint, in addition to those of all endpoints with the same access. */
  readonly errors: readonly ErrorCode[];
  readonly deprecated?: Deprecation;
}

type Shape<S> = S extends TSchema ? Static<S> : Record<string, never>;
export type ParamsOf<E extends EndpointSpec> = Shape<E['params']>;
export type QueryOf<E extends EndpointSpec> = Shape<E['query']>;
export type BodyOf<E extends EndpointSpec> = E extends { readonly batch: object } ? ListOrOne<Shape<E['body']>> : Shape<E['body']>;
export type AnswerOf<E extends EndpointSpec> =
  | Shape<E['answer']>
  | (E extends { readonly batch: { readonly answer: infer S } } ? Shape<S> : never);

type ListOrOne<T> = T | readonly T[];

/** Returns the spec; it exists so that the static types of the schemas are inferred. */
export function defineEndpoint<const E extends EndpointSpec>(spec: E): E {
  return spec;
}
