import type { JsonObject } from '@sluice/shared/wire/documents/openapi/json.ts';
import type { SearchIndex } from '@sluice/shared/wire/rest/documents.ts';
import { readGuides } from './guides.ts';
import { exampleMint, exampleOrderId, exampleWallet } from '@sluice/shared/wire/orders/trade-examples.ts';
import { html, nothing, prose, type Html } from './html.ts';
import { at, words } from './json-at.ts';
import { keylessMark, localUrl } from './local-url.ts';
import { markdownOf } from './markdown.ts';
import { searchIndexOf } from './search-index.ts';
import { endpointsOf } from './shown-endpoint.ts';
import { topicsOf, type Topic } from './topics.ts';

export interface DocsPage {
  /** Last part of its path; the first page is `index`. */
  readonly name: string;
  readonly html: string;
  readonly markdown: string;
}

export interface DocsSite {
  readonly pages: readonly DocsPage[];
  /** `/llms.txt`: what there is to read, for language models (https://llmstxt.org). */
  readonly llms: string;
  readonly search: SearchIndex;
}

export interface DocsSiteOptions {
  /** Addresses of the compiled script and style. */
  readonly assets: readonly string[];
  /** Of the product. */
  readonly version: string;
}

/** A page that was written as Markdown has that; from the others it is made. */
type Page = Topic & { readonly markdown?: string };

/**
 * Both documents as one page per topic. Their script adds search, tabs, forms and a console; the pages can be read without it. The texts are not yet those of a particular gateway (`local-url.ts`).
 */
export function docsSite(openApi: JsonObject, asyncApi: JsonObject, { assets, version }: DocsSiteOptions): DocsSite {
  const topics: readonly Page[] = [...readGuides(), ...topicsOf(openApi, asyncApi, endpointsOf(openApi))];
  const about = words(at(openApi, 'info', 'description'));
  const index: Page = {
    name: 'index',
    title: `sluice ${version}`,
    summary: 'What sluice offers, and all pages.',
    content: indexPage(
      `This is the documentation of sluice ${version}; its API has the version ${words(at(openApi, 'info', 'version'))}. Answers and events were recorded from a simulated chain.\n\n${about}`,
      topics,
    ),
    entries: [],
  };
  const frame = { head: html`${assets.map(assetElement)}`, navigation: navigationOf(topics, version), attributes: bodyAttributes() };
  return {
    pages: [index, ...topics].map((topic) => ({
      name: topic.name,
      html: layout(topic, version, frame).html,
      markdown:
        topic.markdown ??
        markdownOf(
          html`<h1>${topic.title}</h1>
            ${topic.content}`,
        ),
    })),
    llms: llmsText(about, topics),
    search: searchIndexOf(topics),
  };
}

function indexPage(about: string, topics: readonly Topic[]): Html {
  return html`${prose(about)}
    <ul>
      ${topics.map(({ name, title, summary }) => html`<li><a href="/docs/${name}">${title}</a>: ${summary}</li>`)}
    </ul>
    <p>
      For programs: <a href="/api/openapi.json">OpenAPI 3.1</a>, <a href="/api/asyncapi.json">AsyncAPI 3.0</a>,
      <a href="/llms.txt">llms.txt</a>. Add <code>.md</code> to the address of a page for its Markdown form.
    </p>`;
}

function llmsText(about: string, topics: readonly Topic[]): string {
  const [summary = ''] = about.split('\n');
  return `# sluice

> ${summary}

${topics.map(({ name, title, summary: line }) => `- [${title}](${localUrl}/docs/${name}.md): ${line}`).join('\n')}

## Optional

- [OpenAPI](${localUrl}/api/openapi.json): the HTTP API for programs
- [AsyncAPI](${localUrl}/api/asyncapi.json): the stream for programs
`;
}

const assetElement = (address: string): Html =>
  address.endsWith('.js') ? html`<script type="module" src="${address}"></script>` : html`<link rel="stylesheet" href="${address}" />`;

/** The part of the dashboard that shows what a page describes. */
const dashboardParts: Readonly<Record<string, readonly [string, string]>> = {
  authentication: ['api-keys', 'API Keys'],
  limits: ['api-keys', 'API Keys'],
  'http-keys': ['api-keys', 'API Keys'],
  'http-operations': ['status', 'Status'],
  'http-token': ['live', 'Live'],
  'http-portfolio': ['wallets', 'Wallets'],
  'http-trading': ['orders', 'Orders'],
  stream: ['live', 'Live'],
};

function dashboardLink(name: string): Html {
  const part = dashboardParts[name];
  return part === undefined ? nothing : html`<a href="/#/${part[0]}">${part[1]} in the dashboard</a> · `;
}

/** What the script replaces in examples by what exists. */
function bodyAttributes(): Html {
  return html`data-origin="${localUrl}" data-mint="${exampleMint}" data-wallet="${exampleWallet}" data-order="${exampleOrderId}"
  data-keyless="${keylessMark}"`;
}

function layout(
  { name, title, content }: Topic,
  version: string,
  { head, navigation, attributes }: Record<'head' | 'navigation' | 'attributes', Html>,
): Html {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${name === 'index' ? nothing : html`${title} · `}sluice ${version}</title>
        <link rel="icon" href="data:," />
        ${head}
      </head>
      <body ${attributes}>
        ${navigation}
        <main>
          <p class="faint">${dashboardLink(name)}<a href="/docs/${name}.md">Markdown</a></p>
          <h1>${title}</h1>
          ${content}
        </main>
      </body>
    </html> `;
}

function navigationOf(topics: readonly Topic[], version: string): Html {
  const link = (address: string, label: string): Html => html`<li><a href="${address}">${label}</a></li>`;
  return html`<nav aria-label="Contents">
    <p><a href="/">Dashboard</a> · <a href="/docs">Documentation</a></p>
    <p class="faint">sluice ${version}</p>
    <div data-search></div>
    <div id="contents">
      ${topics.map(
        ({ name, title, entries }) =>
          html`<ul>
            ${link(`/docs/${name}`, title)}${entries.map(({ id, label }) => link(`/docs/${name}#${id}`, label))}
          </ul>`,
      )}
    </div>
  </nav>`;
}
