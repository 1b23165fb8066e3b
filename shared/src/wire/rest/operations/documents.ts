import { Type, type Static } from 'typebox';
import { defineEndpoint } from '../endpoint.ts';
import { Closed, Titled } from '../../values/values.ts';

const anything = Type.Record(Type.String(), Type.Unknown());

const document = { method: 'GET', withApiPrefix: false, access: 'open', tag: 'documents', errors: ['RATE_LIMIT'] } as const;

export const openApiEndpoint = defineEndpoint({
  ...document,
  id: 'openApi',
  path: '/api/openapi.json',
  summary: 'The HTTP API as an OpenAPI 3.1 document.',
  answer: anything,
});

export const asyncApiEndpoint = defineEndpoint({
  ...document,
  id: 'asyncApi',
  path: '/api/asyncapi.json',
  summary: 'The stream API as an AsyncAPI 3.0 document.',
  answer: anything,
});

export const docsEndpoint = defineEndpoint({
  ...document,
  id: 'docs',
  path: '/docs',
  summary: 'The first page of the documentation.',
  answer: null,
  contentType: 'text/html; charset=utf-8',
});

export const docsPageEndpoint = defineEndpoint({
  ...document,
  id: 'docsPage',
  path: '/docs/{page}',
  summary: 'One page of the documentation; with `.md` after its name, in Markdown.',
  params: Type.Object({
    page: Type.String({ maxLength: 64, description: 'Name of the page, for example `errors` or `errors.md`.', examples: ['errors.md'] }),
  }),
  answer: null,
  contentType: 'text/*',
  errors: ['NOT_FOUND', 'RATE_LIMIT'],
});

const searchIndex = Titled('search index', {
  pages: Type.Array(
    Closed({
      path: Type.String({ maxLength: 100, description: 'Address of the page.', examples: ['/docs/errors'] }),
      title: Type.String({ maxLength: 200, description: 'Title of the page.', examples: ['Errors'] }),
      sections: Type.Array(
        Closed({
          anchor: Type.String({ maxLength: 200, description: 'What follows `#` in its address; empty at the beginning of the page.' }),
          title: Type.String({ maxLength: 300, description: 'Its heading; empty at the beginning of the page.' }),
          text: Type.String({ maxLength: 100_000, description: 'Words below the heading, including field names and code, in one line.' }),
        }),
        { maxItems: 1_000, description: 'Parts of the page that have an address, in their order.' },
      ),
    }),
    { maxItems: 100, description: 'All pages but the first.' },
  ),
});
export type SearchIndex = Static<typeof searchIndex>;

export const docsSearchEndpoint = defineEndpoint({
  ...document,
  id: 'docsSearch',
  path: '/docs/search.json',
  summary: 'The headings of all pages of the documentation with their words. The search of the pages uses it.',
  answer: searchIndex,
});

export const llmsEndpoint = defineEndpoint({
  ...document,
  id: 'llms',
  path: '/llms.txt',
  summary: 'All pages of the documentation as a list for language models, with links to their Markdown forms.',
  answer: null,
  contentType: 'text/plain; charset=utf-8',
});
