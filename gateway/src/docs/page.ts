import { createHash } from 'node:crypto';
import type { JsonObject } from '@sluice/shared/wire/openapi/json.ts';
import { endpointSection, endpointsOf, errorTable, idOf, type ErrorRow, type ShownEndpoint } from './endpoint-section.ts';
import { fieldTable } from './fields.ts';
import { html, inline, prose, table, type Html } from './html.ts';
import { at, words } from './json-at.ts';
import { streamSection } from './stream-section.ts';
import { style } from './style.ts';

export interface DocsPage {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Both documents as one page without scripts and external files. Its only style is inline, and allowed by its hash. */
export function docsPage(openApi: JsonObject, asyncApi: JsonObject, url: string): DocsPage {
  const endpoints = endpointsOf(openApi);
  const errors = openApi['x-sluice-errors'] as unknown as readonly ErrorRow[];
  const tags = [...new Set(endpoints.map(tagOf))];
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>sluice ${words(at(openApi, 'info', 'version'))}: the interface</title>
        ${styleElement}
      </head>
      <body>
        ${navigation(endpoints, tags)}
        <main>
          <h1>sluice <small>${words(at(openApi, 'info', 'version'))}</small></h1>
          ${prose(words(at(openApi, 'info', 'description')))}
          <p>For programs: <a href="/api/openapi.json">OpenAPI 3.1</a>, <a href="/api/asyncapi.json">AsyncAPI 3.0</a>.</p>
          ${authentication(openApi)}
          <section id="limits">
            <h2>Rate limits</h2>
            <p>One limit for a key over all gateways together.</p>
            ${planTable(openApi)}${headerTable(openApi)}
          </section>
          <section id="errors">
            <h2>Errors</h2>
            <p>Every error has one form, and its code is what to go by.</p>
            <pre><code>${JSON.stringify(at(openApi, 'components', 'examples', 'RATE_LIMIT', 'value'), null, 1)}</code></pre>
            ${errorTable(errors)}
          </section>
          <h2 id="endpoints">Endpoints</h2>
          ${tags.map(
            (tag) =>
              html`<h2 id="tag-${tag}">${tag}</h2>
                ${endpoints.filter((one) => tagOf(one) === tag).map((one) => endpointSection(one, errors, url))}`,
          )}
          ${streamSection(asyncApi)} ${schemas(openApi, asyncApi)}
        </main>
      </body>
    </html> `;
  return { body: page.html, headers: headers() };
}

/** Its content must be exactly the text that was hashed. */
const styleElement: Html = { html: `<style>${style}</style>` };

const tagOf = ({ operation }: ShownEndpoint): string => words((operation['tags'] as readonly string[])[0]);

function headers(): DocsPage['headers'] {
  const hash = createHash('sha256').update(style).digest('base64');
  return {
    'Content-Security-Policy': `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    'X-Frame-Options': 'DENY',
  };
}

function navigation(endpoints: readonly ShownEndpoint[], tags: readonly string[]): Html {
  const link = ({ method, paths, operation }: ShownEndpoint): Html =>
    html`<li>
      <a href="#${idOf(operation)}"><span class="method">${method}</span> ${paths[0]!}</a>
    </li>`;
  return html`<nav aria-label="Contents">
    <ul>
      <li><a href="#authentication">Authentication</a></li>
      <li><a href="#limits">Rate limits</a></li>
      <li><a href="#errors">Errors</a></li>
    </ul>
    ${tags.map(
      (tag) =>
        html`<h2><a href="#tag-${tag}">${tag}</a></h2>
          <ul>
            ${endpoints.filter((one) => tagOf(one) === tag).map(link)}
          </ul>`,
    )}
    <h2><a href="#stream">stream</a></h2>
    <ul>
      <li><a href="#stream-connect">Connecting</a></li>
      <li><a href="#stream-commands">Commands</a></li>
      <li><a href="#stream-frames">Frames</a></li>
      <li><a href="#stream-closes">Close codes</a></li>
      <li><a href="#stream-limits">Limits</a></li>
    </ul>
    <h2><a href="#schemas">schemas</a></h2>
  </nav>`;
}

function authentication(openApi: JsonObject): Html {
  const schemes = Object.values(at(openApi, 'components', 'securitySchemes') as Record<string, JsonObject>);
  return html`<section id="authentication">
    <h2>Authentication</h2>
    ${schemes.map((scheme) => prose(words(scheme['description'])))}
    <pre><code>curl -H "Authorization: Bearer $SLUICE_API_KEY" …</code></pre>
  </section>`;
}

function planTable(openApi: JsonObject): Html {
  const rows = (openApi['x-sluice-plans'] as readonly JsonObject[]).map(({ name, requestsPerMinute, burst }) => [
    html`${words(name)}`,
    html`${Number(requestsPerMinute)}`,
    html`${Number(burst)}`,
  ]);
  return table(['plan', 'requests per minute', 'burst'], rows);
}

function headerTable(openApi: JsonObject): Html {
  const all = Object.entries(at(openApi, 'components', 'headers') as Record<string, JsonObject>);
  const rows = all.map(([name, { description, example }]) => [
    html`<code>${name}</code>`,
    inline(words(description)),
    html`<code>${words(example)}</code>`,
  ]);
  return table(['header', 'meaning', 'example'], rows);
}

/** The schemas of both documents, each name once, because they come from the same source. */
function schemas(openApi: JsonObject, asyncApi: JsonObject): Html {
  const all = {
    ...(at(asyncApi, 'components', 'schemas') as JsonObject),
    ...(at(openApi, 'components', 'schemas') as JsonObject),
  } as Record<string, JsonObject>;
  const names = Object.keys(all).toSorted();
  const one = (name: string): Html =>
    html`<section id="schema-${name}">
      <h3>${name}</h3>
      ${prose(words(all[name]!['description']))}${fieldTable(all[name]!)}
    </section>`;
  return html`<section id="schemas">
    <h2>Schemas</h2>
    ${names.map(one)}
  </section>`;
}
