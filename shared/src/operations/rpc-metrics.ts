import type { EndpointHealth } from '../solana/rpc.ts';
import type { Metric, MetricMakers } from './metric.ts';

/** Metrics of the JSON-RPC endpoints, by their numbers in the settings, because addresses may contain keys. */
export function rpcMetrics({ counter, gauge }: MetricMakers, health: readonly EndpointHealth[]): Metric[] {
  return health.flatMap(({ calls, failures, resting, offences }, index) => {
    const endpoint = { endpoint: String(index + 1) };
    return [
      counter('rpc_calls_total', 'JSON-RPC calls that an endpoint answered, or failed to.', calls, endpoint),
      counter('rpc_failures_total', 'JSON-RPC calls without a usable answer.', failures, endpoint),
      counter(
        'rpc_offences_total',
        'Answers beyond the limit of their method, or nested too deep, after which the endpoint rests.',
        offences,
        endpoint,
      ),
      gauge('rpc_resting', 'The endpoint failed last, and others are asked before it; or it rests.', resting ? 1 : 0, endpoint),
    ];
  });
}
