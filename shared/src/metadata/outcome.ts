import type { FetchFault } from '../guarded-http/fetch-fault.ts';

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

export type MetadataOutcome =
  | { readonly ok: true; readonly metadata: OffChainMetadata }
  | { readonly ok: false; readonly reason: FetchFault };
