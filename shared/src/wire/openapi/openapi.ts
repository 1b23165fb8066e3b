import type { TSchema } from 'typebox';
import { errorBody, errorTable, type ErrorCode } from '../../errors/codes.ts';
import { ErrorAnswer } from '../rest/answers.ts';
import { maxIdempotencyKeyChars, type EndpointSpec } from '../rest/endpoint.ts';
import { endpointErrors, endpointPaths } from './endpoint-errors.ts';
import { exampleOf } from './example.ts';
import { headerComponents, headersOf } from './headers.ts';
import type { Json, JsonObject, SchemaShape } from './json.ts';
import { SchemaBook } from './schema-book.ts';

/** What a plan says that the documents tell. */
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
}

const about = `Read and trade endpoints of a self-hosted gateway to Solana's token market. Bodies and answers are JSON in UTF-8; amounts are raw integers in decimal strings, with a UI number beside them for reading.

Every answer carries \`X-Request-Id\` and \`X-API-Version\`; every answer to a key carries its rate limit. \`GET\` endpoints answer \`HEAD\` too, and every path answers \`OPTIONS\`. Unknown parameters and fields are refused with \`INVALID_REQUEST\`, whose details name them. What is at no path is answered with \`NOT_FOUND\` (404), another method with \`METHOD_NOT_ALLOWED\` (405). What is deprecated says so in its headers, and works until its sunset.`;

/** The OpenAPI 3.1 document of the endpoints; the same for the same endpoints and plans. */
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
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'An API key: `Authorization: Bearer sluice_<id>_<secret>`.' },
        query: {
          type: 'apiKey',
          in: 'query',
          name: 'api-key',
          description: 'The same key where headers cannot be set; addresses end up in logs.',
        },
      },
    },
    'x-sluice-errors': errorList(),
    'x-sluice-plans': options.plans.map(({ name, requestsPerMinute, burst }) => ({ name, requestsPerMinute, burst })),
  };
}

function operation(spec: EndpointSpec, form: number, book: SchemaBook, errorSchema: JsonObject, { plans }: DocumentOptions): JsonObject {
  const { id, access, tag, summary, description, body, deprecated } = spec;
  const scope = access === 'open' || access === 'key' ? [] : [access];
  return {
    operationId: form === 0 ? id : `${id}UnderApi`,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    ...(deprecated === undefined ? {} : { deprecated: true, 'x-sluice-deprecation': { ...deprecated } }),
    security: access === 'open' ? [] : [{ bearer: scope }, { query: scope }],
    parameters: [
      ...parameters('path', spec.params, book),
      ...parameters('query', spec.query, book),
      ...(spec.idempotent === true ? [idempotencyParameter] : []),
    ],
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            // What has no field that must be there may be left out as a whole.
            required: ((body as SchemaShape).required ?? []).length > 0,
            content: bodyContent(spec, body, book),
          },
        }),
    responses: { '200': success(spec, book), ...failures(spec, errorSchema) },
    'x-sluice-access': access,
    'x-sluice-plans': plans.filter(({ withoutEndpoints }) => !withoutEndpoints.includes(id)).map(({ name }) => name),
  };
}

function bodyContent({ form, batch }: EndpointSpec, body: TSchema, book: SchemaBook): JsonObject {
  const one = book.of(body);
  const example = exampleOf(body);
  const schema = batch === undefined ? one : { anyOf: [one, { type: 'array', minItems: 1, maxItems: batch.max, items: one }] };
  return {
    'application/json': { schema, example },
    ...(form === true ? { 'application/x-www-form-urlencoded': { schema: one, example } } : {}),
  };
}

/** The header of an endpoint that can spend. */
const idempotencyParameter: JsonObject = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'Chosen by the client, new for each operation that must happen once: the same key and body have the same outcome.',
  schema: { type: 'string', minLength: 1, maxLength: maxIdempotencyKeyChars, pattern: '^[!-~]+$' },
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

function success(spec: EndpointSpec, book: SchemaBook): JsonObject {
  const { answer, contentType, batch } = spec;
  const asJson = (schema: TSchema): JsonObject => ({ schema: book.of(schema), example: exampleOf(schema) });
  const content: JsonObject = {
    ...(answer === null
      ? { [contentType ?? 'application/octet-stream']: { schema: { type: 'string' } } }
      : { 'application/json': asJson(answer) }),
    ...(batch === undefined ? {} : { 'application/json': asJson(batch.answer) }),
  };
  return { description: spec.summary, headers: headersOf(200, noteOf(spec)), content };
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
      headers: headersOf(status, noteOf(spec)),
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

function noteOf({ access, deprecated, idempotent }: EndpointSpec): Parameters<typeof headersOf>[1] {
  return { isOpen: access === 'open', isDeprecated: deprecated !== undefined, isIdempotent: idempotent === true };
}

function errorExample(code: ErrorCode): JsonObject {
  const { message, retryable } = errorBody(code);
  return {
    summary: message,
    value: { error: { code, message, retryable, details: {} }, requestId: '01JD2Q6M7N8P9RSTVWXYZ01234' },
  };
}

/** The table of errors, as both documents carry it. */
export function errorList(): Json {
  return (Object.keys(errorTable) as ErrorCode[]).map((code) => {
    const { status, retryable, message, closeCode } = errorTable[code];
    return { code, status, retryable, message, ...(closeCode === undefined ? {} : { closeCode }) };
  });
}
