import type { JsonObject } from '@sluice/shared/wire/documents/openapi/json.ts';
import { exampleMint, exampleOrderId, exampleWallet } from '@sluice/shared/wire/values/values.ts';
import type { SearchIndex } from '@sluice/shared/wire/rest/operations/documents.ts';
import { guidePages, readGuides } from './text/guides.ts';
import { html, type Html } from './text/html.ts';
import { keylessMark, localUrl } from './text/local-url.ts';
import { prose } from './text/markdown.ts';
import { endpointsOf, tryForm } from './sections/shown-endpoint.ts';
import { commandExamples, type StreamDocument } from './sections/stream-section.ts';
import { topicOf, type Topic } from './text/topic.ts';
import { topicTexts } from './sections/topics.ts';

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

/**
 * Both documents as one page per topic. Their script adds search, tabs, forms and a console; the pages can be read without it. The texts are not yet those of a particular gateway (`local-url.ts`).
 */
export function docsSite(openApi: JsonObject, asyncApi: JsonObject, { assets, version }: DocsSiteOptions): DocsSite {
  const endpoints = endpointsOf(openApi);
  const forms = endpoints.map((one) => [`try ${one.id}`, formElement(one.id, tryForm(one))] as const);
  const commands = JSON.stringify(commandExamples(asyncApi as unknown as StreamDocument));
  const elements = { ...Object.fromEntries(forms), console: html`<div data-console="${commands}"></div>` };
  const pageOf = (name: string, text: string): Topic => topicOf(name, text, { pages: guidePages, folder: '', elements });
  const topics = [...readGuides(), ...Object.entries(topicTexts(openApi, asyncApi, endpoints)).map(([name, text]) => pageOf(name, text))];
  const { description, version: apiVersion } = openApi['info'] as { readonly description: string; readonly version: string };
  const index = pageOf('index', indexText(topics, version, apiVersion, description));
  const head = assets.map((address) =>
    address.endsWith('.js') ? html`<script type="module" src="${address}"></script>` : html`<link rel="stylesheet" href="${address}" />`,
  );
  const navigation = navigationOf(topics, version);
  return {
    pages: [index, ...topics].map((topic) => ({
      name: topic.name,
      html: layout(topic, version, head, navigation).html,
      markdown: topic.markdown,
    })),
    llms: llmsText(description, topics),
    search: { pages: topics.map(({ name, title, sections }) => ({ path: `/docs/${name}`, title, sections })) },
  };
}

const formElement = (id: string, form: object): Html =>
  html`<details class="try" data-try="${id}" data-form="${JSON.stringify(form)}" hidden><summary>Try it</summary></details>`;

const indexText = (topics: readonly Topic[], version: string, apiVersion: string, about: string): string => `# sluice ${version}

This is the documentation of sluice ${version}; its API has the version ${apiVersion}. Answers and events were recorded from a simulated chain.

${prose(about)}

${topics.map(({ name, title, summary }) => `- [${title}](/docs/${name}): ${prose(summary)}`).join('\n')}

For programs: [OpenAPI 3.1](/api/openapi.json), [AsyncAPI 3.0](/api/asyncapi.json), [llms.txt](/llms.txt). Add \`.md\` to the address of a page for its Markdown form.
`;

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

/** The attributes of its body are what the script replaces in examples by what exists. */
function layout({ name, title, content }: Topic, version: string, head: readonly Html[], navigation: Html): Html {
  const part = dashboardParts[name];
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${name === 'index' ? '' : `${title} · `}sluice ${version}</title>
        <link rel="icon" href="data:," />
        ${head}
      </head>
      <body
        data-origin="${localUrl}"
        data-mint="${exampleMint}"
        data-wallet="${exampleWallet}"
        data-order="${exampleOrderId}"
        data-keyless="${keylessMark}"
      >
        ${navigation}
        <main>
          <p class="faint">
            ${part === undefined ? '' : html`<a href="/#/${part[0]}">${part[1]} in the dashboard</a> · `}<a href="/docs/${name}.md"
              >Markdown</a
            >
          </p>
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
