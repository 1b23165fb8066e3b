/** What the JSON behind a token's `uri` says, cleaned and bounded; null where it says nothing of the kind. Anybody may have written it. */
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
 * Why nothing was fetched. `refused`: the address is none that is ever asked (scheme, host, port, credentials, private network);
 * `unresolved`, `unreachable`, `status`, `redirects`: the other side does not give it; `timeout`, `too_large`, `encoding`,
 * `malformed`: what it gives is no use; `busy`, `closed`: here.
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
