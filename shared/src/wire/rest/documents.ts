import { Type } from 'typebox';
import { defineEndpoint } from './endpoint.ts';

const anything = Type.Record(Type.String(), Type.Unknown());

export const openApiEndpoint = defineEndpoint({
  id: 'openApi',
  method: 'GET',
  path: '/api/openapi.json',
  bothForms: false,
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
  bothForms: false,
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
  bothForms: false,
  access: 'open',
  tag: 'documents',
  summary: 'Both documents as a web page.',
  answer: null,
  contentType: 'text/html; charset=utf-8',
  errors: ['RATE_LIMIT'],
});
