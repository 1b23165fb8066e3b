import { createHash } from 'node:crypto';
import type { Config } from '@sluice/shared/config/config.ts';
import { asyncApiDocument } from '@sluice/shared/wire/openapi/asyncapi.ts';
import { openApiDocument } from '@sluice/shared/wire/openapi/openapi.ts';
import { asyncApiEndpoint, docsEndpoint, openApiEndpoint } from '@sluice/shared/wire/rest/documents.ts';
import type { EndpointSpec } from '@sluice/shared/wire/rest/endpoint.ts';
import { endpoints } from '@sluice/shared/wire/rest/endpoints.ts';
import { apiVersion } from '../http/answers.ts';
import { bindEndpoint, type BoundEndpoint, type EndpointAnswer } from '../http/endpoint.ts';
import { docsPage } from './page.ts';

/** Seconds for which a copy may be used without asking. */
const maxAgeSeconds = 300;

/** Where the examples lead while PUBLIC_URL says nothing. */
const localUrl = 'http://127.0.0.1:8080';

/** The interface in words: OpenAPI, AsyncAPI, and a page made of both. They are made once. */
export function documentEndpoints({ plans, publicUrl }: Pick<Config, 'plans' | 'publicUrl'>): BoundEndpoint[] {
  const openApi = openApiDocument(endpoints, { version: apiVersion, plans: Object.values(plans) });
  const asyncApi = asyncApiDocument({ version: apiVersion });
  const page = docsPage(openApi, asyncApi, (publicUrl ?? localUrl).replace(/\/$/, ''));
  const json = 'application/json; charset=utf-8';
  const openApiFile = fixedFile(json, JSON.stringify(openApi), {});
  const asyncApiFile = fixedFile(json, JSON.stringify(asyncApi), {});
  const pageFile = fixedFile('text/html; charset=utf-8', page.body, page.headers);
  return [
    bindEndpoint(openApiEndpoint, () => openApiFile),
    bindEndpoint(asyncApiEndpoint, () => asyncApiFile),
    bindEndpoint(docsEndpoint, () => pageFile),
  ];
}

function fixedFile(
  contentType: string,
  text: string,
  headers: Readonly<Record<string, string>>,
): Extract<EndpointAnswer<EndpointSpec>, { file: unknown }> {
  const body = Buffer.from(text);
  const tag = createHash('sha256').update(body).digest('base64url').slice(0, 27);
  return { file: { contentType, body, headers: { ...headers, ETag: `"${tag}"`, 'Cache-Control': `public, max-age=${maxAgeSeconds}` } } };
}
