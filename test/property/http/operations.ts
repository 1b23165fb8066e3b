/** A JSON value of a document, with its path as names. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
export type JsonObject = { readonly [name: string]: Json };

/** One operation of an OpenAPI document. */
export interface Operation {
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly { readonly name: string; readonly in: 'path' | 'query'; readonly schema: JsonObject }[];
  /** Schema of the JSON body; null if it accepts none. */
  readonly body: JsonObject | null;
  /** Whether it also accepts the body as a form. */
  readonly form: boolean;
}

export const formType = 'application/x-www-form-urlencoded';
const httpMethods = ['get', 'put', 'post', 'delete', 'patch'] as const;
const isObject = (value: Json | undefined): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Follows `#/a/b` references, also nested ones. */
export function resolve(document: JsonObject, value: Json | undefined): JsonObject {
  let found: Json | undefined = value;
  for (let hops = 0; hops < 8 && isObject(found); hops++) {
    const reference: Json | undefined = found['$ref'];
    if (typeof reference !== 'string') return found;
    found = reference
      .slice(2)
      .split('/')
      .reduce<Json | undefined>((at, name) => (isObject(at) ? at[name.replaceAll('~1', '/')] : undefined), document);
  }
  throw new Error(`no object at ${JSON.stringify(value)}`);
}

export function readOperations(document: JsonObject): Operation[] {
  const paths = resolve(document, document['paths']);
  return Object.keys(paths).flatMap((path) => {
    const item = resolve(document, paths[path]);
    return httpMethods
      .filter((method) => method in item)
      .map((method) => {
        const operation = resolve(document, item[method]);
        const listed = [...list(item['parameters']), ...list(operation['parameters'])].map((one) => resolve(document, one));
        const parameters = listed
          .filter((one) => one['in'] === 'path' || one['in'] === 'query')
          .map((one) => ({
            name: one['name'] as string,
            in: one['in'] === 'path' ? ('path' as const) : ('query' as const),
            schema: resolve(document, one['schema']),
          }));
        const content = contentOf(document, operation['requestBody']);
        const body = content === null ? null : resolve(document, resolve(document, content['application/json'])['schema']);
        const form = content !== null && formType in content;
        return { method: method.toUpperCase(), path, parameters, body, form };
      });
  });
}

function list(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : [];
}

function contentOf(document: JsonObject, value: Json | undefined): JsonObject | null {
  return value === undefined ? null : resolve(document, resolve(document, value)['content']);
}
