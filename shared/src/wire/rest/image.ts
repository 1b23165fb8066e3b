import { Type } from 'typebox';
import { defineEndpoint } from './endpoint.ts';

export const tokenImageEndpoint = defineEndpoint({
  id: 'tokenImage',
  method: 'GET',
  path: '/token/image/{mint}',
  bothForms: true,
  access: 'read',
  tag: 'token',
  summary: 'The image that the off-chain metadata of one token names.',
  description:
    'Fetched on request, and cached for a while. PNG, JPEG, GIF, WebP or AVIF by its bytes, at most 5 MB; the `Content-Type` of the answer says which. A token without such an image is `NOT_FOUND`; one whose image cannot be had now is `UPSTREAM_UNAVAILABLE`. What it shows is the word of its creator: anybody.',
  params: Type.Object({ mint: Type.String({ description: 'Mint of the token, base58.' }) }, { additionalProperties: false }),
  answer: null,
  contentType: 'image/*',
  errors: ['INVALID_MINT', 'NOT_FOUND', 'UPSTREAM_UNAVAILABLE'],
});
