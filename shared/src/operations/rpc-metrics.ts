import type { EndpointHealth } from '../solana/rpc/rpc.ts';
import type { Metric, MetricMakers } from './metric.ts';

/** Metrics of the JSON-RPC endpoints, by their numbers in the settings, because addresses may contain keys. */
export function rpcMetrics({ counter, gauge }: MetricMakers, health: readonly EndpointHealth[]): Metric[] {
  return health.flatMap(({ calls, failures, avoided, impossibleAnswers }, index) => {
    const endpoint = { endpoint: String(index + 1) };
    return [
      counter('rpc_calls_total', 'JSON-RPC calls to an endpoint.', calls, endpoint),
      counter('rpc_failures_total', 'JSON-RPC calls without a usable answer.', failures, endpoint),
      counter(
        'rpc_impossible_answers_total',
        'Answers that were too long for their method, or nested too deeply. Each suspends the endpoint for a while.',
        impossibleAnswers,
        endpoint,
      ),
      gauge(
        'rpc_avoided',
        '1 if the last call failed, so that other endpoints are used first, or if the endpoint is suspended.',
        avoided ? 1 : 0,
        endpoint,
      ),
    ];
  });
}
