import type { Json, JsonObject } from '@sluice/shared/wire/documents/openapi/json.ts';
import type { Schema } from './fields.ts';

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description?: string;
  readonly schema: Schema;
  readonly example: string | number;
}

interface Response {
  readonly content: Readonly<Record<string, { readonly schema: Schema; readonly example?: Json }>>;
  readonly 'x-sluice-codes'?: readonly string[];
}

/** An operation of the OpenAPI document, as far as the pages show it. */
interface Operation {
  readonly operationId: string;
  readonly tags: readonly [string];
  readonly summary: string;
  readonly description?: string;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: Schema; readonly example: JsonObject } } };
  /** By status; there is always a 200. */
  readonly responses: Readonly<Record<string, Response>>;
  readonly 'x-sluice-access': string;
  readonly 'x-sluice-plans': readonly string[];
  readonly 'x-sluice-deprecation'?: { readonly sunset: string; readonly successor: string | null };
}

/** An endpoint of the OpenAPI document with both forms of its path. */
export interface ShownEndpoint {
  /** `operationId` of the first form. */
  readonly id: string;
  readonly method: string;
  readonly paths: readonly string[];
  readonly operation: Operation;
  /** Whether the request can spend: `no`, `always`, or unless it is a dry run. */
  readonly spends: 'no' | 'always' | 'dryRun';
}

/** The endpoints of a document, each once, in its order. */
export function endpointsOf(openApi: JsonObject): readonly ShownEndpoint[] {
  const byId = new Map<string, ShownEndpoint>();
  for (const [path, methods] of Object.entries(openApi['paths'] as unknown as Record<string, Record<string, Operation>>)) {
    for (const [method, operation] of Object.entries(methods)) {
      const id = operation.operationId.replace(/UnderApi$/, '');
      const { paths = [] } = byId.get(id) ?? {};
      byId.set(id, { id, method: method.toUpperCase(), paths: [...paths, path], operation, spends: spendsOf(operation) });
    }
  }
  return [...byId.values()];
}

function spendsOf({ parameters, requestBody }: Operation): ShownEndpoint['spends'] {
  if (!parameters.some(({ name }) => name === 'Idempotency-Key')) return 'no';
  const { dryRun } = requestBody?.content['application/json'].schema.properties ?? {};
  return dryRun === undefined ? 'always' : 'dryRun';
}

/** What the form of an endpoint shows. Its last input is the body, if there is one. */
export function tryForm({ method, paths, operation: { parameters, requestBody }, spends }: ShownEndpoint) {
  const inputs = parameters.map(({ name, in: place, required, schema, example }) => ({
    place: place as string,
    name,
    text: required ? String(example) : '',
    isRequired: required,
    hint: schema.default === undefined ? '' : `default: ${JSON.stringify(schema.default)}`,
    options: schema.enum?.map(String) ?? [],
  }));
  const body = requestBody?.content['application/json'].example;
  const text = JSON.stringify(body, null, 1);
  if (body !== undefined) inputs.push({ place: 'body', name: 'body', text, isRequired: true, hint: '', options: [] });
  return { method, path: paths.at(-1)!, spends, inputs };
}
