import { decodedVenueNames, type VenueName, venuesByLogs } from '../../wire/venues.ts';
import type { SettingReader } from '../setting-reader.ts';

/** How ingest reads the chain. */
export const sourceNames = ['logs', 'blocks', 'block-subscribe', 'transaction-subscribe', 'grpc'] as const;
export type SourceName = (typeof sourceNames)[number];

/** The sources that SOURCES names. If it is not set: logs of the simulated chain; of another one, null, because the endpoints decide. */
export function readSources(
  { isSimnet, hasGrpc }: { readonly isSimnet: boolean; readonly hasGrpc: boolean },
  read: SettingReader,
): readonly SourceName[] | null {
  const chosen = read.names('SOURCES', sourceNames);
  if (chosen.length === 0) return isSimnet ? ['logs'] : null;
  const isByGrpc = chosen.includes('grpc');
  if (!hasGrpc && isByGrpc) read.fault('SOURCES', 'grpc requires SOLANA_GRPC_URL');
  if (hasGrpc && !isByGrpc) read.fault('SOLANA_GRPC_URL', 'has no effect without grpc in SOURCES. Remove it, or name grpc');
  return chosen;
}

/** A header: characters that HTTP allows, without spaces. */
const tokenForm = /^[\u0021-\u007e]{1,4096}$/;

/** Never repeats the token. */
export function readGrpc(hasRpc: boolean, read: SettingReader) {
  const urls = read.urls('SOLANA_GRPC_URL', ['http:', 'https:']);
  const token = read.get('SOLANA_GRPC_TOKEN');
  if (urls === null) {
    if (token !== null) read.fault('SOLANA_GRPC_TOKEN', 'requires SOLANA_GRPC_URL');
    return null;
  }
  if (!hasRpc) read.fault('SOLANA_GRPC_URL', 'requires SOLANA_RPC_URL, which answers what a stream does not show');
  if (token !== null && !tokenForm.test(token)) read.fault('SOLANA_GRPC_TOKEN', 'has characters that a header cannot have');
  return { urls, token };
}

/** What is read by these sources, unless VENUES is set: all that logs alone can show, or all. */
export function venuesOf(sources: readonly SourceName[]): readonly VenueName[] {
  return sources.length > 0 && sources.every((source) => source === 'logs') ? venuesByLogs : decodedVenueNames;
}
