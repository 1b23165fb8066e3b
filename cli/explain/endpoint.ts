import { chainRpc } from '@sluice/gateway/reads/chain/chain-rpc.ts';
import { bindEndpoint, type BoundEndpoint } from '@sluice/gateway/http/endpoint.ts';
import { Gatherer } from '@sluice/programs/explain/gather.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { RpcError } from '@sluice/shared/solana/rpc/rpc.ts';
import { explainEndpoint } from '@sluice/shared/wire/rest/explain.ts';
import { Explainer } from './explainer.ts';

/** `GET /explain/{signature}`. `close` ends its process. */
export function explainRoute({ rpc, idlDir }: Config, log: Logger): { readonly endpoint: BoundEndpoint; close(): void } {
  const explainer = new Explainer(idlDir, log);
  const gatherer = new Gatherer(chainRpc(rpc?.httpUrls ?? null), idlDir);
  const endpoint = bindEndpoint(explainEndpoint, async ({ params: { signature } }) => {
    try {
      const gathered = await gatherer.bySignature(signature);
      if (gathered === null) return { error: 'NOT_FOUND', message: 'No node knows a confirmed transaction with this signature.' };
      const outcome = await explainer.explain(gathered);
      if (outcome === null) return { error: 'UPSTREAM_UNAVAILABLE', message: 'The process that explains transactions gave no answer.' };
      return outcome.ok ? { json: outcome.explanation } : { error: 'UPSTREAM_UNAVAILABLE', message: outcome.reason };
    } catch (error) {
      if (error instanceof RpcError) return { error: 'UPSTREAM_UNAVAILABLE', message: error.message };
      throw error;
    }
  });
  return { endpoint, close: () => explainer.close() };
}
