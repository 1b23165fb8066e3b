import type { JsonObject } from '@sluice/shared/wire/documents/openapi/json.ts';
import { endpointSection, errorRows, type ErrorRow } from './endpoint-section.ts';
import { fieldTable } from './fields.ts';
import { codeBlock, html, inline, prose, table, type Html } from './html.ts';
import { at, words } from './json-at.ts';
import { localUrl } from './local-url.ts';
import { idOf, type ShownEndpoint } from './shown-endpoint.ts';
import { streamSection } from './stream-section.ts';

/** One page of the documentation. */
export interface Topic {
  /** Last part of its path: `/docs/<name>`. */
  readonly name: string;
  readonly title: string;
  /** One sentence. */
  readonly summary: string;
  readonly content: Html;
  /** Its parts in the navigation. */
  readonly entries: readonly Entry[];
}

interface Entry {
  readonly id: string;
  readonly label: string;
}

const tagTitles: Readonly<Record<string, string>> = {
  operations: 'Operations',
  token: 'Tokens',
  portfolio: 'Portfolio',
  trading: 'Trading',
  PumpPortal: 'PumpPortal clients',
  keys: 'API keys',
  documents: 'Documents',
};

/** All pages but the first, from both documents. */
export function topicsOf(openApi: JsonObject, asyncApi: JsonObject, endpoints: readonly ShownEndpoint[]): readonly Topic[] {
  const errors = openApi['x-sluice-errors'] as unknown as readonly ErrorRow[];
  const page = (name: string, title: string, summary: string, content: Html, entries: readonly Entry[] = []): Topic => ({
    name,
    title,
    summary,
    content,
    entries,
  });
  return [
    page('authentication', 'Authentication', 'How a client presents its API key.', authentication(openApi)),
    page(
      'limits',
      'Rate limits',
      'Plans, their limits, and the headers that report them.',
      html`${planTable(openApi)}${headerTable(openApi)}`,
    ),
    page('errors', 'Errors', 'Every error code, and what to do about it.', errorPage(openApi, errors)),
    ...tagsOf(endpoints).map((tag) => endpointTopic(tag, endpoints, errors)),
    page('stream', 'The stream', 'Live events over one WebSocket: commands, frames, close codes.', streamSection(asyncApi), [
      { id: 'stream-connect', label: 'Connecting' },
      { id: 'stream-commands', label: 'Commands' },
      { id: 'stream-frames', label: 'Frames' },
      { id: 'stream-closes', label: 'Close codes' },
      { id: 'stream-limits', label: 'Limits' },
    ]),
    schemaTopic(openApi, asyncApi),
  ];
}

function tagsOf(endpoints: readonly ShownEndpoint[]): string[] {
  return [...new Set(endpoints.map(tagOf))];
}

const tagOf = ({ operation }: ShownEndpoint): string => words((operation['tags'] as readonly string[])[0]);

function endpointTopic(tag: string, all: readonly ShownEndpoint[], errors: readonly ErrorRow[]): Topic {
  const shown = all.filter((one) => tagOf(one) === tag);
  return {
    name: `http-${tag.toLowerCase()}`,
    title: tagTitles[tag] ?? tag,
    summary: shown.map(({ method, paths }) => `${method} ${paths[0]!}`).join(', '),
    content: html`${shown.map((one) => endpointSection(one, errors))}`,
    entries: shown.map(({ method, paths, operation }) => ({
      id: idOf(operation),
      label: `${method} ${paths[0]!}`,
    })),
  };
}

function errorPage(openApi: JsonObject, errors: readonly ErrorRow[]): Html {
  return html`<p>Every error has this form. Branch on its code.</p>
    ${codeBlock('json', JSON.stringify(at(openApi, 'components', 'examples', 'RATE_LIMIT', 'value'), null, 1))} ${errorRows(errors)}`;
}

function authentication(openApi: JsonObject): Html {
  const schemes = Object.values(at(openApi, 'components', 'securitySchemes') as Record<string, JsonObject>);
  return html`${schemes.map((scheme) => prose(words(scheme['description'])))}
  ${codeBlock('sh', `curl -H "Authorization: Bearer $SLUICE_API_KEY" ${localUrl}/api/usage`)}`;
}

function planTable(openApi: JsonObject): Html {
  const rows = (openApi['x-sluice-plans'] as readonly JsonObject[]).map(({ name, requestsPerMinute, burst }) => [
    html`${words(name)}`,
    html`${Number(requestsPerMinute)}`,
    html`${Number(burst)}`,
  ]);
  return html`<p>A key has one limit over all gateways together.</p>
    ${table(['plan', 'requests per minute', 'burst'], rows)}`;
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
function schemaTopic(openApi: JsonObject, asyncApi: JsonObject): Topic {
  const all = {
    ...(at(asyncApi, 'components', 'schemas') as JsonObject),
    ...(at(openApi, 'components', 'schemas') as JsonObject),
  } as Record<string, JsonObject>;
  const names = Object.keys(all).toSorted();
  const sections = names.map(
    (name) =>
      html`<section id="schema-${name}">
        <h2>${name}</h2>
        ${prose(words(all[name]!['description']))}${fieldTable(all[name]!)}
      </section>`,
  );
  const entries = names.map((name) => ({ id: `schema-${name}`, label: name }));
  return { name: 'schemas', title: 'Schemas', summary: 'Fields of all bodies, answers and events.', content: html`${sections}`, entries };
}
