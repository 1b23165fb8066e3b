import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Config } from '@sluice/shared/config/config.ts';
import {
  asyncApiEndpoint,
  docsEndpoint,
  docsPageEndpoint,
  docsSearchEndpoint,
  llmsEndpoint,
  openApiEndpoint,
} from '@sluice/shared/wire/rest/operations/documents.ts';
import type { EndpointSpec } from '@sluice/shared/wire/rest/endpoint.ts';
import { bindEndpoint, type BoundEndpoint, type EndpointAnswer } from '@sluice/gateway/http/endpoint.ts';
import { addressLimit } from '@sluice/gateway/ratelimit/address-limit.ts';
import { processClock, type LimitClock } from '@sluice/gateway/ratelimit/limiter.ts';
import type { HttpRequest } from '@sluice/gateway/transport/transport.ts';
import { pageHeaders } from '../dashboard/serve-page.ts';
import { localUrl, textOfGateway } from './text/local-url.ts';
import type { RenderOptions, RenderedDocuments, RenderedFile } from './render.ts';

/** How long clients may cache the documents. */
const maxAgeSeconds = 300;

/** Limit for one address. The documents are the largest answers without a key, and do not change while the gateway runs. */
const documentQuota = { perMinute: 120, burst: 90 };

export const docsHeaders = pageHeaders('data:');

export interface DocumentParts {
  readonly config: Pick<Config, 'plans' | 'publicUrl' | 'pumpPortalKeyless'>;
  /** The address of the client, also behind trusted proxies. */
  readonly addressOf: (request: HttpRequest) => string;
  /** Addresses of the script and the style of the pages. */
  readonly assets?: readonly string[];
  readonly clock?: Pick<LimitClock, 'nowUs'>;
}

/** The documents of the API: OpenAPI, AsyncAPI, and pages with both. */
export async function documentEndpoints({ config, addressOf, assets = [], clock = processClock }: DocumentParts): Promise<BoundEndpoint[]> {
  const { openApi, asyncApi, llms, search, pages } = await renderedDocuments({ plans: config.plans, assets });
  const gateway = { url: config.publicUrl ?? localUrl, isKeyless: config.pumpPortalKeyless };
  const limit = addressLimit(documentQuota, clock);
  const withinLimit = (request: HttpRequest, answer: FileAnswer | ErrorAnswer): FileAnswer | ErrorAnswer => {
    const retryAfterMs = limit(addressOf(request));
    return retryAfterMs === 0 ? answer : refusalFor(retryAfterMs);
  };
  const fileOf = (contentType: string, text: string, headers: Readonly<Record<string, string>> = {}): FileAnswer =>
    fixedFile(`${contentType}; charset=utf-8`, textOfGateway(text, gateway), headers);
  const serve = (contentType: string, text: string) => {
    const file = fileOf(contentType, text);
    return ({ request }: { readonly request: HttpRequest }) => withinLimit(request, file);
  };
  const files = new Map(
    pages.flatMap(({ name, html, markdown }) => [
      [name, fileOf('text/html', html, { ...docsHeaders, 'Cache-Control': 'no-cache' })] as const,
      [`${name}.md`, fileOf('text/markdown', markdown)] as const,
    ]),
  );
  return [
    bindEndpoint(openApiEndpoint, serve('application/json', openApi)),
    bindEndpoint(asyncApiEndpoint, serve('application/json', asyncApi)),
    bindEndpoint(docsEndpoint, ({ request }) => withinLimit(request, files.get('index')!)),
    bindEndpoint(docsPageEndpoint, ({ request, params: { page } }) =>
      withinLimit(request, files.get(page) ?? { error: 'NOT_FOUND', message: 'There is no such page. /docs lists all.' }),
    ),
    bindEndpoint(docsSearchEndpoint, serve('application/json', search)),
    bindEndpoint(llmsEndpoint, serve('text/plain', llms)),
  ];
}

/** What the last gateway of this process used. In tests, a process starts many, mostly with the same options. */
let newest: RenderedFile | null = null;

/**
 * The documents with these options. Rendering takes 0.2 s, so the compiler has rendered those with the default plans (`render-default.ts`). The code that
 * renders is loaded only for other options.
 */
async function renderedDocuments(options: RenderOptions): Promise<RenderedDocuments> {
  const key = JSON.stringify(options);
  if (newest?.options !== key) newest = readRendered();
  if (newest?.options !== key) newest = { options: key, documents: (await import('./render.ts')).renderDocuments(options) };
  return newest.documents;
}

/** Null if this module runs uncompiled. */
function readRendered(): RenderedFile | null {
  if (import.meta.url.endsWith('.ts')) return null;
  return JSON.parse(readFileSync(new URL('rendered.json', import.meta.url), 'utf8')) as RenderedFile;
}

type FileAnswer = Extract<EndpointAnswer<EndpointSpec>, { file: unknown }>;
type ErrorAnswer = Extract<EndpointAnswer<EndpointSpec>, { error: unknown }>;

function refusalFor(retryAfterMs: number): ErrorAnswer {
  const seconds = Math.ceil(retryAfterMs / 1000);
  const message = `This address has requested too many documents. The next one is sent in ${seconds} s.`;
  return { error: 'RATE_LIMIT', message, details: { limit: documentQuota.perMinute, retryAfterMs }, retryAfterSeconds: seconds };
}

function fixedFile(contentType: string, text: string, headers: Readonly<Record<string, string>>): FileAnswer {
  const body = Buffer.from(text);
  const tag = createHash('sha256').update(body).digest('base64url').slice(0, 27);
  // A weak tag, because the compressed forms have the same one.
  const own = { ETag: `W/"${tag}"`, 'Cache-Control': `public, max-age=${maxAgeSeconds}`, Vary: 'Accept-Encoding', ...headers };
  return { file: { contentType, body, headers: own } };
}
