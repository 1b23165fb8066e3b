import type { JsonObject } from '@sluice/shared/wire/documents/openapi/json.ts';
import type { EndpointSpec } from '@sluice/shared/wire/rest/endpoint.ts';
import { endpointSection, errorCodes, errorRows } from './endpoint-section.ts';
import { fieldTable, type Schema } from './fields.ts';
import { localUrl } from '../text/local-url.ts';
import { blocks, code, codeBlock, prose, table } from '../text/markdown.ts';
import type { ShownEndpoint } from './shown-endpoint.ts';
import { streamPage, streamReference, type StreamDocument } from './stream-section.ts';

/** The OpenAPI document without its endpoints, as far as the pages show it. */
interface HttpDocument {
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly headers: Readonly<Record<string, { readonly description: string; readonly example: string | number }>>;
    readonly securitySchemes: Readonly<Record<string, { readonly description: string }>>;
    readonly examples: { readonly RATE_LIMIT: { readonly value: JsonObject } };
  };
  readonly 'x-sluice-plans': readonly { readonly name: string; readonly requestsPerMinute: number; readonly burst: number }[];
}

const tagTitles: Readonly<Record<string, string>> = {
  operations: 'Operations',
  token: 'Tokens',
  portfolio: 'Portfolio',
  explain: 'Explain',
  trading: 'Trading',
  PumpPortal: 'PumpPortal clients',
  keys: 'API keys',
  documents: 'Documents',
};

/** All pages that are made from both documents, as Markdown by their names. */
export function topicTexts(
  openApi: JsonObject,
  asyncApi: JsonObject,
  endpoints: readonly ShownEndpoint[],
): Readonly<Record<string, string>> {
  const http = openApi as unknown as HttpDocument;
  const stream = asyncApi as unknown as StreamDocument;
  const tags = [...new Set(endpoints.map(({ operation }) => operation.tags[0]))];
  return {
    authentication: authentication(http),
    limits: limits(http),
    errors: blocks(
      '# Errors',
      'Every error code, and what to do about it.',
      'Every error has this form. Branch on its code.',
      codeBlock('json', JSON.stringify(http.components.examples.RATE_LIMIT.value, null, 1)),
      errorRows(errorCodes),
    ),
    ...Object.fromEntries(tags.map((tag) => [`http-${tag.toLowerCase()}`, endpointPage(tag, endpoints)])),
    stream: streamPage(stream),
    schemas: blocks(
      '# Schemas',
      'Fields of all bodies, answers and events.',
      // The same name means the same schema in both, because they come from the same source.
      schemaSections({ ...stream.components.schemas, ...http.components.schemas }),
    ),
  };
}

/** Blocks of REFERENCE.md: the table of endpoints, and what the stream sends and receives. */
export function referenceBlocks(endpoints: readonly EndpointSpec[], asyncApi: JsonObject): Record<'endpoints' | 'protocol', string> {
  const stream = asyncApi as unknown as StreamDocument;
  const rows = endpoints.map(({ method, path, withApiPrefix, access, summary, errors: own, deprecated }) => {
    const end = deprecated === undefined ? '' : ` Deprecated, works until ${deprecated.sunset}.`;
    return [`${method} ${code(path)}`, withApiPrefix ? 'yes' : '–', access, `${summary}${end}`, own.map(code).join(' ') || '–'];
  });
  return {
    endpoints: table(['method and path', 'also under `/api`', 'access', 'purpose', 'errors of its own'], rows),
    protocol: streamReference(stream, schemaSections(stream.components.schemas)),
  };
}

function schemaSections(schemas: Readonly<Record<string, Schema>>): string {
  const sections = Object.entries(schemas)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, schema]) => blocks(`## ${name} <!-- #schema-${name} -->`, prose(schema.description ?? ''), fieldTable(schema)));
  return blocks(...sections);
}

function endpointPage(tag: string, all: readonly ShownEndpoint[]): string {
  const shown = all.filter(({ operation }) => operation.tags[0] === tag);
  return blocks(
    `# ${tagTitles[tag] ?? tag}`,
    `${shown.map(({ method, paths }) => `${method} ${code(paths[0]!)}`).join(', ')}.`,
    ...shown.map(endpointSection),
  );
}

function authentication({ components }: HttpDocument): string {
  return blocks(
    '# Authentication',
    'How a client presents its API key.',
    ...Object.values(components.securitySchemes).map(({ description }) => prose(description)),
    codeBlock('sh', `curl -H "Authorization: Bearer $SLUICE_API_KEY" ${localUrl}/api/usage`),
  );
}

function limits({ components, 'x-sluice-plans': plans }: HttpDocument): string {
  return blocks(
    '# Rate limits',
    'Plans, their limits, and the headers that report them.',
    'A key has one limit over all gateways together.',
    table(
      ['plan', 'requests per minute', 'burst'],
      plans.map(({ name, requestsPerMinute, burst }) => [name, String(requestsPerMinute), String(burst)]),
    ),
    table(
      ['header', 'meaning', 'example'],
      Object.entries(components.headers).map(([name, { description, example }]) => [code(name), prose(description), code(String(example))]),
    ),
  );
}
