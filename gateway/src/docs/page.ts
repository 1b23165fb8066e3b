import { createHash } from 'node:crypto';
import type { JsonObject } from '@sluice/shared/wire/openapi/json.ts';
import { guidesFor } from './guides.ts';
import { html, nothing, prose, type Html } from './html.ts';
import { at, words } from './json-at.ts';
import { markdownOf } from './markdown.ts';
import { endpointsOf } from './shown-endpoint.ts';
import { searchScript } from './search.ts';
import { style } from './style.ts';
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
  /** Of every HTML page. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A page that was written as Markdown has that; from the others it is made. */
type Page = Topic & { readonly markdown?: string };

/** Both documents as one page per topic, without external files. Its only style and script are inline, and allowed by their hashes. */
export function docsSite(openApi: JsonObject, asyncApi: JsonObject, url: string): DocsSite {
  const topics: readonly Page[] = [...guidesFor(url), ...topicsOf(openApi, asyncApi, endpointsOf(openApi), url)];
  const version = words(at(openApi, 'info', 'version'));
  const about = words(at(openApi, 'info', 'description'));
  const index: Page = {
    name: 'index',
    title: `sluice ${version}`,
    summary: 'What sluice offers, and all pages.',
    content: indexPage(about, topics),
    entries: [],
  };
  const navigation = navigationOf(topics);
  return {
    pages: [index, ...topics].map((topic) => ({
      name: topic.name,
      html: layout(topic, version, navigation).html,
      markdown:
        topic.markdown ??
        markdownOf(
          html`<h1>${topic.title}</h1>
            ${topic.content}`,
        ),
    })),
    llms: llmsText(about, topics, url),
    headers: headers(),
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

function llmsText(about: string, topics: readonly Topic[], url: string): string {
  const [summary = ''] = about.split('\n');
  return `# sluice

> ${summary}

${topics.map(({ name, title, summary: line }) => `- [${title}](${url}/docs/${name}.md): ${line}`).join('\n')}

## Optional

- [OpenAPI](${url}/api/openapi.json): the HTTP API for programs
- [AsyncAPI](${url}/api/asyncapi.json): the stream for programs
`;
}

/** Their content must be exactly the text that was hashed. */
const styleElement: Html = { html: `<style>${style}</style>` };
const scriptElement: Html = { html: `<script>${searchScript}</script>` };

function layout({ name, title, content }: Topic, version: string, navigation: Html): Html {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${name === 'index' ? nothing : html`${title} · `}sluice ${version}</title>
        ${styleElement}
      </head>
      <body>
        ${navigation}
        <main>
          <p class="faint"><a href="/docs/${name}.md">Markdown</a></p>
          <h1>${title}</h1>
          ${content}
        </main>
        ${scriptElement}
      </body>
    </html> `;
}

function headers(): DocsSite['headers'] {
  const hash = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
  return {
    'Content-Security-Policy': `default-src 'none'; script-src ${hash(searchScript)}; style-src ${hash(style)}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    'X-Frame-Options': 'DENY',
  };
}

function navigationOf(topics: readonly Topic[]): Html {
  const link = (address: string, label: string, about: string): Html =>
    html`<li data-words="${`${label} ${about}`.toLowerCase()}"><a href="${address}">${label}</a></li>`;
  return html`<nav aria-label="Contents">
    <p><a href="/">Dashboard</a> · <a href="/docs">Documentation</a></p>
    <input id="search" type="search" placeholder="Search" aria-label="Search the documentation" hidden />
    <p id="found" class="faint" role="status"></p>
    ${topics.map(
      ({ name, title, summary, entries }) =>
        html`<ul>
          ${link(`/docs/${name}`, title, summary)}${entries.map(({ id, label, about }) => link(`/docs/${name}#${id}`, label, `${title} ${about}`))}
        </ul>`,
    )}
  </nav>`;
}
