import type { Plans } from '@sluice/shared/config/plans.ts';
import { asyncApiDocument } from '@sluice/shared/wire/documents/openapi/asyncapi.ts';
import { openApiDocument } from '@sluice/shared/wire/documents/openapi/openapi.ts';
import { endpoints } from '@sluice/shared/wire/rest/endpoints.ts';
import manifest from '../../package.json' with { type: 'json' };
import { apiVersion } from '@sluice/gateway/http/answers.ts';
import { docsSite, type DocsPage } from './page.ts';
import recorded from './recorded-answers.json' with { type: 'json' };

export interface RenderOptions {
  readonly plans: Plans;
  /** Addresses of the script and the style of the pages. */
  readonly assets: readonly string[];
}

/** The documents of the API. `openApi`, `asyncApi` and `search` are JSON. */
export interface RenderedDocuments {
  readonly openApi: string;
  readonly asyncApi: string;
  readonly search: string;
  readonly llms: string;
  readonly pages: readonly DocsPage[];
}

/** What the compiler has rendered: the documents, and their options as JSON. */
export interface RenderedFile {
  readonly options: string;
  readonly documents: RenderedDocuments;
}

export function renderDocuments({ plans, assets }: RenderOptions): RenderedDocuments {
  const openApi = openApiDocument(endpoints, { version: apiVersion, plans: Object.values(plans), recorded });
  const asyncApi = asyncApiDocument({ version: apiVersion, recorded });
  const { pages, llms, search } = docsSite(openApi, asyncApi, { assets, version: manifest.version });
  return { openApi: JSON.stringify(openApi), asyncApi: JSON.stringify(asyncApi), search: JSON.stringify(search), llms, pages };
}
