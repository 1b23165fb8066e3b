import { defineEndpoint } from '../endpoint.ts';
import { Closed, RequestedMint } from '../../values/values.ts';
import { tokenRead } from '../fields.ts';

export const tokenImageEndpoint = defineEndpoint({
  ...tokenRead,
  id: 'tokenImage',
  path: '/token/image/{mint}',
  summary: 'The image in the off-chain metadata of one token.',
  description:
    'The image is fetched on request and cached for a while. It must be PNG, JPEG, GIF or WebP (its bytes decide, and `Content-Type` shows the result) of at most 5 MB and 16 million pixels; all pictures of an animation together have at most 100 million. `NOT_FOUND`: the token has no such image. `UPSTREAM_UNAVAILABLE`: the image cannot be fetched now. Anyone can create a token with any image, so do not trust its content.',
  params: Closed({ mint: RequestedMint() }),
  answer: null,
  contentType: 'image/*',
  errors: ['INVALID_MINT', 'NOT_FOUND', 'UPSTREAM_UNAVAILABLE'],
});
