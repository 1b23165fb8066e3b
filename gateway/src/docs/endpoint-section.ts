import type { JsonObject } from '@sluice/shared/wire/openapi/json.ts';
import { fieldTable, typeOf } from './fields.ts';
import { html, inline, nothing, prose, table, type Html } from './html.ts';
import { at, words } from './json-at.ts';

export interface ErrorRow {
  readonly code: string;
  readonly status: number;
  readonly retryable: boolean;
  readonly message: string;
  readonly closeCode?: number;
}

/** An endpoint of the OpenAPI document with both forms of its path. */
export interface ShownEndpoint {
  readonly method: string;
  readonly paths: readonly string[];
  readonly operation: JsonObject;
}

const noun: Readonly<Record<string, string>> = { open: 'open to all', key: 'any API key' };

/** The endpoints of a document, each once, in its order. */
export function endpointsOf(openApi: JsonObject): readonly ShownEndpoint[] {
  const byId = new Map<string, ShownEndpoint>();
  for (const [path, methods] of Object.entries(openApi['paths'] as Record<string, Record<string, JsonObject>>)) {
    for (const [method, operation] of Object.entries(methods)) {
      const id = idOf(operation);
      const known = byId.get(id);
      byId.set(
        id,
        known === undefined ? { method: method.toUpperCase(), paths: [path], operation } : { ...known, paths: [...known.paths, path] },
      );
    }
  }
  return [...byId.values()];
}

/** `operationId` of the first form. */
export function idOf(operation: JsonObject): string {
  return words(operation['operationId']).replace(/UnderApi$/, '');
}

export function endpointSection({ method, paths, operation }: ShownEndpoint, errors: readonly ErrorRow[], url: string): Html {
  const access = words(operation['x-sluice-access']);
  const plans = (operation['x-sluice-plans'] as readonly string[]).join(', ');
  const { description } = operation;
  const answer = at(operation, 'responses', '200', 'content') as Record<string, JsonObject>;
  const [type = ''] = Object.keys(answer);
  const schema = answer[type]!['schema'] as JsonObject;
  return html`<section id="${idOf(operation)}">
    <h2><span class="method">${method}</span> <code>${paths[0]!}</code></h2>
    ${deprecationOf(operation)}
    <p>${inline(words(operation['summary']))}</p>
    ${description === undefined ? nothing : prose(words(description))}
    <dl>
      <dt>Access</dt>
      <dd>${access in noun ? noun[access]! : html`API key with the scope <code>${access}</code>`}</dd>
      ${
        access === 'open'
          ? nothing
          : html`<dt>Plans</dt>
              <dd>${plans === '' ? 'none' : plans}</dd>`
      }
      ${
        paths.length > 1
          ? html`<dt>Also at</dt>
              <dd><code>${paths[1]!}</code></dd>`
          : nothing
      }
    </dl>
    ${parameterTable(operation)}${bodyOf(operation)}
    <h3>Example</h3>
    <pre><code>${curlOf({ method, paths, operation }, url)}</code></pre>
    <h3>Answer</h3>
    <p>200, <code>${type}</code>${type === 'application/json' ? html`: ${typeOf(schema)}` : nothing}</p>
    ${fieldTable(schema)}${exampleOf(answer[type]!)}
    <h3>Errors</h3>
    ${errorTable(errors.filter(({ code }) => codesOf(operation).includes(code)))}
  </section>`;
}

function exampleOf({ example }: JsonObject): Html {
  return example === undefined ? nothing : html`<pre><code>${JSON.stringify(example, null, 1)}</code></pre>`;
}

function deprecationOf(operation: JsonObject): Html {
  const deprecation = operation['x-sluice-deprecation'] as JsonObject | undefined;
  if (deprecation === undefined) return nothing;
  const { sunset, successor } = deprecation;
  return html`<p class="deprecated">
    Deprecated; works until ${words(sunset)}.${typeof successor === 'string' ? html` Use <code>${successor}</code>.` : nothing}
  </p>`;
}

function codesOf(operation: JsonObject): readonly string[] {
  return Object.values(operation['responses'] as Record<string, JsonObject>).flatMap(
    (response) => (response['x-sluice-codes'] ?? []) as readonly string[],
  );
}

export function errorTable(errors: readonly ErrorRow[]): Html {
  const rows = errors.map(({ code, status, retryable, message, closeCode }) => [
    html`${status}`,
    html`<code>${code}</code>`,
    html`${retryable ? 'yes' : 'no'}`,
    html`${closeCode ?? '–'}`,
    html`${message}`,
  ]);
  return table(['status', 'code', 'retryable', 'close code', 'meaning'], rows);
}

function parameterTable(operation: JsonObject): Html {
  const parameters = operation['parameters'] as readonly JsonObject[];
  const rows = parameters.map((one) => [
    html`<code>${words(one['name'])}</code>${one['required'] === true ? nothing : html` <span class="faint">optional</span>`}`,
    html`${words(one['in'])}`,
    typeOf(one['schema'] as JsonObject),
    inline(words(one['description'])),
  ]);
  return rows.length === 0
    ? nothing
    : html`<h3>Parameters</h3>
        ${table(['parameter', 'in', 'type', 'meaning'], rows)}`;
}

function bodyOf(operation: JsonObject): Html {
  const schema = at(operation, 'requestBody', 'content', 'application/json', 'schema') as JsonObject | undefined;
  return schema === undefined
    ? nothing
    : html`<h3>Body</h3>
        ${schema['$ref'] === undefined && schema['anyOf'] === undefined ? nothing : html`<p>${typeOf(schema)}</p>`}${fieldTable(schema)}`;
}

/** The request as a curl command, with a key if the endpoint requires one. */
export function curlOf({ method, paths, operation }: ShownEndpoint, url: string): string {
  const parameters = operation['parameters'] as readonly JsonObject[];
  let path = paths.at(-1)!;
  const query = new URLSearchParams();
  for (const { name, in: place, required, example } of parameters) {
    if (place === 'path') path = path.replace(`{${words(name)}}`, encodeURIComponent(words(example)));
    else if (required === true) query.set(words(name), words(example));
  }
  const parts = [`curl ${method === 'GET' ? '' : `-X ${method} `}'${url}${path}${query.size > 0 ? `?${query.toString()}` : ''}'`];
  if (operation['x-sluice-access'] !== 'open') parts.push(`-H "Authorization: Bearer $SLUICE_API_KEY"`);
  const body = at(operation, 'requestBody', 'content', 'application/json', 'example');
  if (body !== undefined) parts.push("-H 'Content-Type: application/json'", `-d '${JSON.stringify(body)}'`);
  return parts.join(' \\\n  ');
}
