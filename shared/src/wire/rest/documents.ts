import { Type, type Static } from 'typebox';
import { defineEndpoint } from './endpoint.ts';
import { closed } from './fields.ts';

const anything = Type.Record(Type.String(), Type.Unknown());

export const openApiEndpoint = defineEndpoint({
  id: 'openApi',
  method: 'GET',
  path: '/api/openapi.json',
  withApiPrefix: false,
  access: 'open',
  tag: 'documents',
  summary: 'The HTTP API as an OpenAPI 3.1 document.',
  answer: anything,
  errors: ['RATE_LIMIT'],
});

export const asyncApiEndpoint = defineEndpoint({
  id: 'asyncApi',
  method: 'GET',
  path: '/api/asyncapi.json',
  withApiPrefix: false,
  access: 'open',
  tag: 'documents',
  summary: 'The stream API as an AsyncAPI 3.0 document.',
  answer: anything,
  errors: ['RATE_LIMIT'],
});

export const docsEndpoint = defineEndpoint({
  id: 'docs',
  method: 'GET',
  path: '/docs',
  withApiPrefix: false,
  access: 'open',
  tag: 'documents',
  summary: 'The first page of the documentation.',
  answer: null,
  contentType: 'text/html; charset=utf-8',
  errors: ['RATE_LIMIT'],
});

export const docsPageEndpoint = defineEndpoint({
  id: 'docsPage',
  method: 'GET',
  path: '/docs/{page}',
  withApiPrefix: false,
  access: 'open',
  tag: 'documents',
  summary: 'One page of the documentation; with `.md` after its name, in Markdown.',
  params: Type.Object({
    page: Type.String({ maxLength: 64, description: 'Name of the page, for example `errors` or `errors.md`.', examples: ['errors.md'] }),
  }),
  answer: null,
  contentType: 'text/*',
  errors: ['NOT_FOUND', 'RATE_LIMIT'],
});

const searchIndex = Type.Object(
  {
    pages: Type.Array(
      Type.Object(
        {
          path: Type.String({ maxLength: 100, description: 'Address of the page.', examples: ['/docs/errors'] }),
          title: Type.String({ maxLength: 200, description: 'Title of the page.', examples: ['Errors'] }),
          sections: Type.Array(
            Type.Object(
              {
                anchor: Type.String({
                  maxLength: 200,
                  description: 'What follows `#` in its address; empty at the beginning of the page.',
                }),
                title: Type.String({ maxLength: 300, description: 'Its heading; empty at the beginning of the page.' }),
                text: Type.String({
                  maxLength: 100_000,
                  description: 'Words below the heading, including field names and code, in one line.',
                }),
              },
              closed,
            ),
            { maxItems: 1_000, description: 'Parts of the page that have an address, in their order.' },
          ),
        },
        closed,
      ),
      { maxItems: 100, description: 'All pages but the first.' },
    ),
  },
  { ...closed, title: 'search index' },
);
export type SearchIndex = Static<typeof searchIndex>;

export const docsSearchEndpoint = defineEndpoint({
  id: 'docsSearch',
  method: 'GET',
  path: '/docs/search.json',
  withApiPrefix: false,
  access: 'open',
  tag: 'documents',
  summary: 'The headings of all pages of the documentation with their words. The search of the pages uses it.',
  answer: searchIndex,
  errors: ['RATE_LIMIT'],
});

export const llmsEndpoint = defineEndpoint({
  id: 'llms',
  method: 'GET',
  path: '/llms.txt',
  withApiPrefix: false,
  access: 'open',
  tag: 'documents',
  summary: 'All pages of the documentation as a list for language models, with links to their Markdown forms.',
  answer: null,
  contentType: 'text/plain; charset=utf-8',
  errors: ['RATE_LIMIT'],
});
