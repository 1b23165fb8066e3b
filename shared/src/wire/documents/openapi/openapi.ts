import type { TSchema } from 'typebox';
import { errorBody, errorTable, type ErrorCode } from '../../errors.ts';
import { ErrorAnswer } from '../../rest/answers.ts';
import { maxIdempotencyKeyChars, type EndpointSpec } from '../../rest/endpoint.ts';
import { endpointErrors, endpointPaths } from './endpoint-errors.ts';
import { exampleOf } from './example.ts';
import { headerComponents, headersOf } from './headers.ts';
import type { Json, JsonObject } from './json.ts';
import { SchemaBook } from './schema-book.ts';
import type { SchemaShape } from '../../values/values.ts';

/** The part of a plan that the documents show. */
export interface PlanNote {
  readonly name: string;
  readonly requestsPerMinute: number;
  readonly burst: number;
  readonly withoutEndpoints: readonly string[];
}

export interface DocumentOptions {
  /** Of the interface. */
  readonly version: string;
  readonly plans: readonly PlanNote[];
  readonly recorded?: Recorded;
}

/** Answers and messages of a real gateway, which the documents show. What is missing is made from its schema. */
export interface Recorded {
  /** By the id of the endpoint. */
  readonly answers: Readonly<Record<string, Json>>;
  /** By the name of the message in the AsyncAPI document. */
  readonly messages: Readonly<Record<string, Json>>;
}

const about = `HTTP API of a self-hosted gateway to Solana's token market, for reading and trading. Bodies and answers are JSON in UTF-8. Amounts are raw integers in decimal strings, and a UI number shows the same amount in whole coins.

Every answer carries \`X-Request-Id\` and \`X-API-Version\`; every answer to a key carries its rate limit. \`GET\` endpoints answer \`HEAD\` too, and every path answers \`OPTIONS\`. Unknown parameters and fields are refused with \`INVALID_REQUEST\`, whose details list them. An unknown path gives \`NOT_FOUND\` (404), a wrong method \`METHOD_NOT_ALLOWED\` (405). Deprecated endpoints have headers for it, and work until their sunset.`;

/** The OpenAPI 3.1 document of the endpoints. It depends on the endpoints and plans only. */
export function openApiDocument(endpoints: readonly EndpointSpec[], options: DocumentOptions): JsonObject {
  const book = new SchemaBook();
  const errorSchema = book.of(ErrorAnswer);
  const paths: Record<string, Record<string, Json>> = {};
  for (const spec of endpoints) {
    for (const [form, path] of endpointPaths(spec).entries()) {
      paths[path] ??= {};
      paths[path][spec.method.toLowerCase()] = operation(spec, form, book, errorSchema, options);
    }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'sluice', version: options.version, description: about, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
    servers: [{ url: '/' }],
    tags: [...new Set(endpoints.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      schemas: book.components,
      headers: headerComponents,
      examples: Object.fromEntries((Object.keys(errorTable) as ErrorCode[]).map((code) => [code, errorExample(code)])),
      securitySchemes: securitySchemes('apiKey', 'An API key: `Authorization: Bearer sluice_<id>_<secret>`.'),
    },
    'x-sluice-errors': errorList(),
    'x-sluice-plans': options.plans.map(({ name, requestsPerMinute, burst }) => ({ name, requestsPerMinute, burst })),
  };
}

/** The forms of an API key. `type`: what the standard calls a key in a header. `bearer`: what the first form is. */
export function securitySchemes(type: 'apiKey' | 'httpApiKey', bearer: string): JsonObject {
  return {
    bearer: { type: 'http', scheme: 'bearer', description: bearer },
    basic: { type: 'http', scheme: 'basic', description: 'The same key as the user name, with an empty password.' },
    header: { type, in: 'header', name: 'X-API-Key', description: 'The same key in another header.' },
    query: {
      type,
      in: 'query',
      name: 'api-key',
      description: 'The same key in the URL, for clients that cannot set headers. Note that URLs are often logged.',
    },
  };
}

function operation(
  spec: EndpointSpec,
  form: number,
  book: SchemaBook,
  errorSchema: JsonObject,
  { plans, recorded }: DocumentOptions,
): JsonObject {
  const { id, access, keyless, tag, summary, description, body, deprecated } = spec;
  const scope = access === 'open' || access === 'key' ? [] : [access];
  return {
    operationId: form === 0 ? id : `${id}UnderApi`,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    ...(deprecated === undefined ? {} : { deprecated: true, 'x-sluice-deprecation': { ...deprecated } }),
    // An empty requirement: it may also be called without a key.
    security:
      access === 'open'
        ? []
        : [...(['bearer', 'basic', 'header', 'query'] as const).map((name) => ({ [name]: scope })), ...(keyless === true ? [{}] : [])],
    parameters: [
      ...parameters('path', spec.params, book),
      ...parameters('query', spec.query, book),
      ...(spec.idempotent === true ? [idempotencyParameter] : []),
    ],
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            // A body without required fields may be absent.
            required: ((body as SchemaShape).required ?? []).length > 0,
            content: bodyContent(spec, body, book),
          },
        }),
    responses: { '200': success(spec, book, recorded?.answers[id]), ...failures(spec, errorSchema) },
    'x-sluice-access': access,
    'x-sluice-plans': plans.filter(({ withoutEndpoints }) => !withoutEndpoints.includes(id)).map(({ name }) => name),
  };
}

function bodyContent({ form, batch }: EndpointSpec, body: TSchema, book: SchemaBook): JsonObject {
  const one = book.of(body);
  const example = exampleOf(body);
  const schema = batch === undefined ? one : { anyOf: [one, listOf(one, batch)] };
  return {
    'application/json': { schema, example },
    ...(form === true ? { 'application/x-www-form-urlencoded': { schema: book.of(formOf(body)), example } } : {}),
  };
}

/** Printable ASCII without spaces; it may be in double quotes, which do not count. */
const most = maxIdempotencyKeyChars - 1;
const idempotencyPattern = `^([!#-~][!-~]{0,${most}}|"([!-~]{0,${most - 1}}[!#-~])?|"[!-~]{1,${most + 1}}")$`;

function listOf(one: JsonObject, { max, firstRequires }: NonNullable<EndpointSpec['batch']>): JsonObject {
  const first = { allOf: [one, { required: firstRequires }] };
  return { type: 'array', minItems: 1, maxItems: max, prefixItems: [first], items: one };
}

/** The fields of a body that a form can have. */
function formOf(body: TSchema): TSchema {
  const { title = '', properties = {} } = body as SchemaShape;
  const fields = Object.entries(properties).filter(([, { type }]) => type !== 'object');
  return { ...body, title: `${title} form`, properties: Object.fromEntries(fields) };
}

/** The header of an endpoint that can spend. */
const idempotencyParameter: JsonObject = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'Chosen by the client, different for each operation that must happen once. A repeated request with the same key and body has the same outcome. Printable ASCII without spaces: the server cannot see bytes above 0x7F at the beginning and the end of a key, unless it is in double quotes.',
  schema: { type: 'string', minLength: 1, maxLength: maxIdempotencyKeyChars + 2, pattern: idempotencyPattern },
  example: '8e03978e-40d5-43dd-bc93-6894a57f9324',
};

function parameters(place: 'path' | 'query', schema: TSchema | undefined, book: SchemaBook): Json[] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = schema as SchemaShape;
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...converted } = book.of(property);
    return {
      name,
      in: place,
      required: place === 'path' || required.includes(name),
      ...(description === undefined ? {} : { description }),
      schema: converted,
      example: exampleOf(property, name),
    };
  });
}

function success(spec: EndpointSpec, book: SchemaBook, recorded: Json | undefined): JsonObject {
  const { answer, contentType, batch } = spec;
  const asJson = (schema: TSchema): JsonObject => ({ schema: book.of(schema), example: recorded ?? exampleOf(schema) });
  const content: JsonObject = {
    ...(answer === null
      ? { [contentType ?? 'application/octet-stream']: { schema: { type: 'string' } } }
      : { 'application/json': asJson(answer) }),
    ...(batch === undefined ? {} : { 'application/json': asJson(batch.answer) }),
  };
  return { description: spec.summary, headers: headersOf(200, spec), content };
}

/** One response for each status, with all its codes. */
function failures(spec: EndpointSpec, errorSchema: JsonObject): JsonObject {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of endpointErrors(spec)) {
    const { status } = errorTable[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const entries = [...byStatus].map(([status, codes]): [string, Json] => [
    String(status),
    {
      description: codes.map((code) => `\`${code}\`: ${errorTable[code].message}`).join(' '),
      headers: headersOf(status, spec),
      content: {
        'application/json': {
          schema: errorSchema,
          examples: Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }])),
        },
      },
      'x-sluice-codes': codes,
    },
  ]);
  return Object.fromEntries(entries);
}

function errorExample(code: ErrorCode): JsonObject {
  const { message, retryable } = errorBody(code);
  return { summary: message, value: { error: { code, message, retryable, details: {} }, requestId: '01JD2Q6M7N8P9RSTVWXYZ01234' } };
}

/** The table of errors, for both documents. */
export function errorList(): Json {
  return (Object.keys(errorTable) as ErrorCode[]).map((code) => {
    const { status, retryable, message, closeCode } = errorTable[code];
    return { code, status, retryable, message, ...(closeCode === undefined ? {} : { closeCode }) };
  });
}
