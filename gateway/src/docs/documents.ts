import { createHash } from 'node:crypto';
import type { Config } from '@sluice/shared/config/config.ts';
import { asyncApiDocument } from '@sluice/shared/wire/openapi/asyncapi.ts';
import { openApiDocument } from '@sluice/shared/wire/openapi/openapi.ts';
import {
  asyncApiEndpoint,
  docsEndpoint,
  docsPageEndpoint,
  docsSearchEndpoint,
  llmsEndpoint,
  openApiEndpoint,
} from '@sluice/shared/wire/rest/documents.ts';
import type { EndpointSpec } from '@sluice/shared/wire/rest/endpoint.ts';
import { endpoints } from '@sluice/shared/wire/rest/endpoints.ts';
import { apiVersion } from '../http/answers.ts';
import { bindEndpoint, type BoundEndpoint, type EndpointAnswer } from '../http/endpoint.ts';
import { addressLimit } from '../ratelimit/address-limit.ts';
import { processClock, type LimitClock } from '../ratelimit/limit-clock.ts';
import type { HttpRequest } from '../transport/transport.ts';
import { docsHeaders, docsSite } from './page.ts';

/** How long clients may cache the documents. */
const maxAgeSeconds = 300;

/** Address in the examples if PUBLIC_URL is not set. */
const localUrl = 'http://127.0.0.1:8080';

/** Limit for one address. The documents are the largest answers without a key, and do not change while the gateway runs. */
const documentQuota = { perMinute: 120, burst: 60 };

export interface DocumentParts {
  readonly config: Pick<Config, 'plans' | 'publicUrl' | 'pumpPortalKeyless'>;
  /** The address of the client, also behind trusted proxies. */
  readonly addressOf: (request: HttpRequest) => string;
  /** Addresses of the script and the style of the pages. */
  readonly assets?: readonly string[];
  readonly clock?: Pick<LimitClock, 'nowUs'>;
}

/** The documents of the API: OpenAPI, AsyncAPI, and pages with both. */
export function documentEndpoints({ config, addressOf, assets = [], clock = processClock }: DocumentParts): BoundEndpoint[] {
  const { openApiFile, asyncApiFile, llmsFile, searchFile, pages } = filesFor(config, assets);
  const limit = addressLimit(documentQuota, clock);
  const withinLimit = (request: HttpRequest, answer: FileAnswer | ErrorAnswer): FileAnswer | ErrorAnswer => {
    const retryAfterMs = limit(addressOf(request));
    return retryAfterMs === 0 ? answer : refusalFor(retryAfterMs);
  };
  const limited =
    (file: FileAnswer) =>
    ({ request }: { readonly request: HttpRequest }): FileAnswer | ErrorAnswer =>
      withinLimit(request, file);
  return [
    bindEndpoint(openApiEndpoint, limited(openApiFile)),
    bindEndpoint(asyncApiEndpoint, limited(asyncApiFile)),
    bindEndpoint(docsEndpoint, limited(pages.get('index')!)),
    bindEndpoint(docsPageEndpoint, ({ request, params: { page } }) =>
      withinLimit(request, pages.get(page) ?? { error: 'NOT_FOUND', message: 'There is no such page. /docs lists all.' }),
    ),
    bindEndpoint(docsSearchEndpoint, limited(searchFile)),
    bindEndpoint(llmsEndpoint, limited(llmsFile)),
  ];
}

interface DocumentFiles {
  readonly openApiFile: FileAnswer;
  readonly asyncApiFile: FileAnswer;
  readonly llmsFile: FileAnswer;
  readonly searchFile: FileAnswer;
  readonly pages: ReadonlyMap<string, FileAnswer>;
}

/** The files that were created last. Rendering them takes 60 ms, and gateways of one process mostly have the same. */
let newest: { readonly options: string; readonly files: DocumentFiles } | null = null;

function filesFor(config: DocumentParts['config'], assets: readonly string[]): DocumentFiles {
  const { plans, publicUrl, pumpPortalKeyless } = config;
  const options = JSON.stringify([plans, publicUrl, pumpPortalKeyless, assets]);
  if (newest?.options !== options) newest = { options, files: renderFiles(config, assets) };
  return newest.files;
}

function renderFiles({ plans, publicUrl, pumpPortalKeyless }: DocumentParts['config'], assets: readonly string[]): DocumentFiles {
  const openApi = openApiDocument(endpoints, { version: apiVersion, plans: Object.values(plans) });
  const asyncApi = asyncApiDocument({ version: apiVersion });
  const site = docsSite(openApi, asyncApi, { url: (publicUrl ?? localUrl).replace(/\/$/, ''), assets, isKeyless: pumpPortalKeyless });
  const json = 'application/json; charset=utf-8';
  const pageFiles = site.pages.flatMap(({ name, html, markdown }) => [
    [name, fixedFile('text/html; charset=utf-8', html, { ...docsHeaders, 'Cache-Control': 'no-cache' })] as const,
    [`${name}.md`, fixedFile('text/markdown; charset=utf-8', markdown, {})] as const,
  ]);
  return {
    openApiFile: fixedFile(json, JSON.stringify(openApi), {}),
    asyncApiFile: fixedFile(json, JSON.stringify(asyncApi), {}),
    llmsFile: fixedFile('text/plain; charset=utf-8', site.llms, {}),
    searchFile: fixedFile(json, JSON.stringify(site.search), {}),
    pages: new Map(pageFiles),
  };
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
