import type { JsonObject } from '@sluice/shared/wire/documents/openapi/json.ts';
import { fieldTable, typeOf } from './fields.ts';
import { codeBlock, html, inline, nothing, prose, table, type Html } from './html.ts';
import { at, words } from './json-at.ts';
import { localUrl } from './local-url.ts';
import { sampleRequest } from './samples/sample-request.ts';
import { samplesOf } from './samples/samples.ts';
import { idOf, type ShownEndpoint } from './shown-endpoint.ts';
import { tryForm } from './try-form.ts';

export interface ErrorRow {
  readonly code: string;
  readonly status: number;
  readonly retryable: boolean;
  readonly message: string;
  readonly closeCode?: number;
}

const noun: Readonly<Record<string, string>> = { open: 'open to all', key: 'any API key' };

export function endpointSection({ method, paths, operation }: ShownEndpoint, errors: readonly ErrorRow[]): Html {
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
    ${sampleList({ method, paths, operation })} ${tryForm({ method, paths, operation })}
    <h3>Answer</h3>
    <p>200, <code>${type}</code>${type === 'application/json' ? html`: ${typeOf(schema)}` : nothing}</p>
    ${fieldTable(schema)}${exampleOf(answer[type]!)}
    <h3>Errors</h3>
    ${errorRows(errors.filter(({ code }) => codesOf(operation).includes(code)))}
  </section>`;
}

/** The request in each language. One is open at a time. */
function sampleList(endpoint: ShownEndpoint): Html {
  return html`<div class="samples">
    ${samplesOf(sampleRequest(endpoint, localUrl)).map(
      ({ title, language, text }, index) =>
        html`<details name="samples-${idOf(endpoint.operation)}" ${index === 0 ? html` open` : nothing}>
          <summary>${title}</summary>
          ${codeBlock(language, text)}
        </details>`,
    )}
  </div>`;
}

function exampleOf({ example }: JsonObject): Html {
  return example === undefined ? nothing : html`<div class="recorded">${codeBlock('json', JSON.stringify(example, null, 1))}</div>`;
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

export function errorRows(errors: readonly ErrorRow[]): Html {
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
        ${schema['$ref'] === undefined && (schema['anyOf'] === undefined || schema['properties'] !== undefined) ? nothing : html`<p>${typeOf(schema)}</p>`}${fieldTable(schema)}`;
}
