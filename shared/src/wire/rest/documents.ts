import { Type } from 'typebox';
import { defineEndpoint } from './endpoint.ts';

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
