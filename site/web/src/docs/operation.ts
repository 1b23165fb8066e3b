import { bodyFields, objectOf, resolved, textOf, type Field, type Schema, type SchemaDocument } from './schema.ts';

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly schema: Schema;
  readonly example?: unknown;
}

interface Operation {
  readonly operationId: string;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: {
    readonly content: { readonly 'application/json': { readonly schema: Schema; readonly example: Readonly<Record<string, unknown>> } };
  };
  readonly 'x-sluice-access': string;
}

export interface OpenApi extends SchemaDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

/** An endpoint as its form needs it. */
export interface Endpoint {
  readonly method: string;
  readonly path: string;
  readonly fields: readonly Field[];
  readonly hasBody: boolean;
  /** `dryRun`: it spends unless the field `dryRun` is true. */
  readonly spends: 'no' | 'always' | 'dryRun';
}

/** The endpoint with this id, at the path under `/api` if it has two. */
export function endpointOf(document: OpenApi, id: string): Endpoint {
  const all = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  const found = [`${id}UnderApi`, id].flatMap((name) => all.find(({ operation }) => operation.operationId === name) ?? []);
  if (found[0] === undefined) throw new Error(`The gateway has no endpoint ${id}.`);
  const { path, method, operation } = found[0];
  const json = operation.requestBody?.content['application/json'];
  const whole = json === undefined ? {} : resolved(firstForm(json.schema), document);
  const inBody = bodyFields(whole, json?.example ?? {});
  const parameters = operation.parameters.map(({ name, in: place, required, schema, example }): Field => ({
    place,
    name,
    schema,
    isRequired: required,
    text: required ? textOf(example) : '',
  }));
  const canSpend = parameters.some(({ name }) => name === 'Idempotency-Key');
  const hasDryRun = inBody.some(({ name }) => name === 'dryRun');
  return {
    method,
    path,
    fields: [...parameters, ...inBody.filter(({ name }) => !(canSpend && name === 'dryRun'))],
    hasBody: json !== undefined,
    spends: !canSpend ? 'no' : hasDryRun ? 'dryRun' : 'always',
  };
}

/** Of several forms of a body, the first. Alternatives next to properties only tell which of these go together. */
function firstForm(schema: Schema): Schema {
  return schema.properties === undefined ? (schema.anyOf?.[0] ?? schema) : schema;
}

interface BuiltRequest {
  readonly path: string;
  readonly init: RequestInit;
}

/** The request that the texts of a form mean. Throws if a text is no JSON where it must be. */
export function requestOf(
  { method, path, fields, hasBody }: Endpoint,
  texts: Readonly<Record<string, string>>,
  isDryRun: boolean,
): BuiltRequest {
  const of = (place: Field['place']): Readonly<Record<string, unknown>> =>
    objectOf(
      fields.filter((field) => field.place === place),
      texts,
    );
  const strings = (place: Field['place']): [string, string][] => Object.entries(of(place)).map(([name, value]) => [name, String(value)]);
  const filled = strings('path').reduce((text, [name, value]) => text.replace(`{${name}}`, () => encodeURIComponent(value)), path);
  const query = new URLSearchParams(strings('query')).toString();
  const body = { ...of('body'), ...(isDryRun && { dryRun: true }) };
  return {
    path: `${filled}${query === '' ? '' : `?${query}`}`,
    init: {
      method,
      headers: { ...Object.fromEntries(strings('header')), ...(hasBody && { 'Content-Type': 'application/json' }) },
      ...(hasBody && { body: JSON.stringify(body) }),
    },
  };
}
