import type { TokenMetadataBook } from '@sluice/shared/metadata/book.ts';
import type { FetchFault } from '@sluice/shared/guarded-http/fetch-fault.ts';
import { tokenImageEndpoint } from '@sluice/shared/wire/rest/tokens/image.ts';
import { bindEndpoint, type BoundEndpoint } from '../../http/endpoint.ts';
import { refusalOf, type TokenBook } from './token-book.ts';

export interface TokenImageParts {
  readonly book: Pick<TokenBook, 'find' | 'identityOf'>;
  readonly metadata: Pick<TokenMetadataBook, 'load' | 'image'>;
}

/** Anyone can provide an image, so nothing in it may run. (All answers also have `nosniff`, so browsers do not guess another type.) */
const headers = { 'Content-Security-Policy': "sandbox; default-src 'none'", 'Cache-Control': 'private, max-age=3600' } as const;

/** Permanent faults. The others are temporary. */
const lasting: ReadonlySet<FetchFault> = new Set<FetchFault>(['refused', 'malformed', 'too_large', 'encoding']);

/** `/token/image/{mint}`: the image that the metadata of a token names. */
export function tokenImageBinding({ book, metadata }: TokenImageParts): BoundEndpoint {
  return bindEndpoint(tokenImageEndpoint, async ({ params: { mint } }) => {
    const found = await book.find(mint);
    if (!found.ok) return refusalOf(found);
    const uri = book.identityOf(found.token)?.uri ?? '';
    if (uri === '') return notFound('This token has no metadata address.');
    const document = await metadata.load(uri);
    if (!document.ok) return faultOf(document.reason, 'metadata');
    const { image: address } = document.metadata;
    if (address === null) return notFound('The metadata of this token has no image.');
    const fetched = await metadata.image(address);
    if (!fetched.ok) return faultOf(fetched.reason, 'image');
    return { file: { contentType: fetched.image.type, body: fetched.image.bytes, headers } };
  });
}

function notFound(message: string) {
  return { error: 'NOT_FOUND', message } as const;
}

function faultOf(reason: FetchFault, what: 'metadata' | 'image') {
  if (lasting.has(reason)) return notFound(`The ${what} of this token cannot be shown.`);
  return { error: 'UPSTREAM_UNAVAILABLE', message: `The ${what} of this token cannot be fetched now.`, details: { reason } } as const;
}
