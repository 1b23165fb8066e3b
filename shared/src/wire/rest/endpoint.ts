import type { Static, TObject, TSchema } from 'typebox';
import type { ErrorCode } from '../../errors/codes.ts';
import type { Scope } from '../plans.ts';

/**
 * Who may call: `open` (anybody), `key` (any valid API key), or a key with this scope. A plan may withhold an endpoint
 * beside that, by its `id`.
 */
export type Access = 'open' | 'key' | Scope;

/** Characters of an `Idempotency-Key`. */
export const maxIdempotencyKeyChars = 255;

/** A deprecated endpoint works until its sunset; headers (RFC 9745, RFC 8594) and documents follow from this. */
export interface Deprecation {
  /** Since when it is deprecated, `2026-11-21`. */
  readonly since: string;
  /** When it may go, at least 90 days later. */
  readonly sunset: string;
  /** Path of what replaces it; null where nothing does. */
  readonly successor: string | null;
}

/** One endpoint of the HTTP interface: routing, checks, OpenAPI and the documents come from this alone. */
export interface EndpointSpec {
  /** The `operationId`, camelCase; plans name endpoints by it. */
  readonly id: string;
  readonly method: 'GET' | 'POST';
  /** `/token/info/{mint}`: a parameter is one whole segment. */
  readonly path: string;
  /** It answers at `/api` + path as well. */
  readonly bothForms: boolean;
  readonly access: Access;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** Schemas of the parameters in the path and in the query: strings, checked and then converted (`readInteger`, say). */
  readonly params?: TObject;
  readonly query?: TObject;
  /** JSON body; unknown fields are refused. */
  readonly body?: TObject;
  /** The body may also come as `application/x-www-form-urlencoded`: all values are texts then, which `body` must allow. */
  readonly form?: true;
  /** Several such bodies may come in one list, of a key whose plan has the batch forms. */
  readonly batch?: {
    readonly max: number;
    /** JSON of a 200 to a list. */
    readonly answer: TSchema;
  };
  /** The body of an error has `errors` as well: what went wrong, as texts in a list. */
  readonly errorList?: true;
  /** It takes an `Idempotency-Key`. */
  readonly idempotent?: true;
  /** JSON of a 200; null where it is no JSON (`contentType` says what). */
  readonly answer: TSchema | null;
  readonly contentType?: string;
  /** Codes of its own, beside those that any endpoint of its access can give. */
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

/** Keeps the static types of the schemas. */
export function defineEndpoint<const E extends EndpointSpec>(spec: E): E {
  return spec;
}
