import { SluiceError } from '@sluice/client';
import type { Config } from '@sluice/shared/config/config.ts';
import { nobodyListens, probeGateway } from '../../gateway/gateway-probe.ts';
import { listenerAt } from '../../gateway/listener-owner.ts';

/** A URL where a gateway answered is not asked again for this long. */
const probedForMs = 5_000;

/**
 * Gives the key to the client only if a gateway answers at this URL, and if its process does not belong to another user. Called before each
 * connection and request. The error says what is wrong and what to do. The client tries again, unless another attempt cannot succeed.
 */
export function keyForSluice(url: string, config: Config, key: () => Promise<string>): () => Promise<string> {
  let probedAtMs = Number.NEGATIVE_INFINITY;
  return async () => {
    const listener = listenerAt(url, config);
    if (listener.kind === 'foreign') throw new SluiceError(listener.fault, { code: 'MALFORMED', retryable: false });
    if (listener.kind === 'nobody') throw new Error(nobodyListens(new URL(url).host));
    if (performance.now() - probedAtMs > probedForMs) {
      const probe = await probeGateway(url);
      if (!probe.ok && probe.isGateway === false) throw new SluiceError(probe.fault, { code: 'MALFORMED', retryable: false });
      if (!probe.ok) throw new Error(probe.fault);
      probedAtMs = performance.now();
    }
    return await key();
  };
}
