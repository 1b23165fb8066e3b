import type { EndpointHealth } from '../solana/rpc.ts';
import type { Metric, MetricMakers } from './metric.ts';

/** Of the JSON-RPC endpoints of the settings, by their numbers: addresses may hold keys. */
export function rpcMetrics({ counter, gauge }: MetricMakers, health: readonly EndpointHealth[]): Metric[] {
  return health.flatMap(({ calls, failures, resting }, index) => {
    const endpoint = { endpoint: String(index + 1) };
    return [
      counter('rpc_calls_total', 'JSON-RPC calls that an endpoint answered, or failed to.', calls, endpoint),
      counter('rpc_failures_total', 'JSON-RPC calls without a usable answer.', failures, endpoint),
      gauge('rpc_resting', 'The endpoint failed last, and others are asked before it.', resting ? 1 : 0, endpoint),
    ];
  });
}
