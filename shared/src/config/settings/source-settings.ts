import type { Config } from '../config.ts';
import { inQuotes, listOf, type Fault, type Get } from '../fault.ts';

/** How ingest reads the chain. */
export const sourceNames = ['logs', 'blocks', 'block-subscribe', 'transaction-subscribe', 'grpc'] as const;
export type SourceName = (typeof sourceNames)[number];

/** The sources that SOURCES names. If it is not set: logs, and gRPC if it has an address. */
export function readSources(grpc: Config['grpc'], get: Get, fault: Fault): readonly SourceName[] {
  const names: readonly string[] = listOf('SOURCES', get, fault);
  for (const name of names) {
    if (!sourceNames.some((known) => known === name)) fault('SOURCES', `${inQuotes(name)} is not one of ${sourceNames.join(', ')}`);
  }
  const chosen = sourceNames.filter((name) => names.includes(name));
  if (chosen.length === 0) return grpc === null ? ['logs'] : ['logs', 'grpc'];
  if (grpc === null && chosen.includes('grpc')) fault('SOURCES', 'grpc requires SOLANA_GRPC_URL');
  if (grpc !== null && !chosen.includes('grpc')) fault('SOLANA_GRPC_URL', 'has no effect without grpc in SOURCES. Remove it, or name grpc');
  return chosen;
}

/** A header: characters that HTTP allows, without spaces. */
const tokenForm = /^[\u0021-\u007e]{1,4096}$/;

/** Never repeats the token. */
export function readGrpc(urls: readonly string[] | null, hasRpc: boolean, get: Get, fault: Fault): Config['grpc'] {
  const token = get('SOLANA_GRPC_TOKEN');
  if (urls === null) {
    if (token !== null) fault('SOLANA_GRPC_TOKEN', 'requires SOLANA_GRPC_URL');
    return null;
  }
  if (!hasRpc) fault('SOLANA_GRPC_URL', 'requires SOLANA_RPC_URL, which answers what a stream does not show');
  if (token !== null && !tokenForm.test(token)) fault('SOLANA_GRPC_TOKEN', 'has characters that a header cannot have');
  return { urls, token };
}
