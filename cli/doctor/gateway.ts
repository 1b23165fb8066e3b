import type { Config } from '@sluice/shared/config/config.ts';
import { gatewayUrl } from '../gateway-url.ts';
import { ok, reason, warn, type Finding } from './finding.ts';

const timeoutMs = 3_000;

/** A gateway that does not run is no fault: doctor is also asked before the first start. */
export async function checkGateway(config: Config): Promise<Finding> {
  if (config.port === 0) return ok('gateway', 'takes a free port (PORT=0), so it is not looked for');
  const url = gatewayUrl(config);
  try {
    const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(timeoutMs) });
    await response.arrayBuffer();
    return response.ok ? ok('gateway', `ready at ${url}`) : warn('gateway', `runs at ${url} but is not ready (HTTP ${response.status})`);
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    return warn('gateway', `does not answer at ${url}: ${reason(cause)}`);
  }
}
