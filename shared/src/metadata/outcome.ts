/**
 * Content of the JSON document of a token's `uri`, cleaned and bounded; null for what it does not contain. Anybody may have written it.
 */
export interface OffChainMetadata {
  readonly name: string | null;
  readonly symbol: string | null;
  readonly description: string | null;
  /** Addresses: http, https or ipfs. */
  readonly image: string | null;
  readonly twitter: string | null;
  readonly telegram: string | null;
  readonly website: string | null;
}

/**
 * Why nothing was fetched. `refused`: the address may not be requested (scheme, host, port, credentials, private network). `unresolved`,
 * `unreachable`, `status`, `redirects`: the other side does not return it. `timeout`, `too_large`, `encoding`, `malformed`: what it returns
 * cannot be used. `busy`, `closed`: the reason is on our side.
 */
export type FetchFault =
  | 'refused'
  | 'unresolved'
  | 'unreachable'
  | 'status'
  | 'redirects'
  | 'timeout'
  | 'too_large'
  | 'encoding'
  | 'malformed'
  | 'busy'
  | 'closed';

export type MetadataOutcome =
  | { readonly ok: true; readonly metadata: OffChainMetadata }
  | { readonly ok: false; readonly reason: FetchFault };
