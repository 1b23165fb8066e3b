import type { EndpointHealth } from '../solana/rpc/rpc.ts';
import { metricsOf, type Metric } from './metric.ts';

/** Metrics of the JSON-RPC endpoints, by their numbers in the settings, because addresses may contain keys. */
export function rpcMetrics(prefix: string, health: readonly EndpointHealth[]): Metric[] {
  return health.flatMap(({ calls, failures, avoided, impossibleAnswers }, index) =>
    metricsOf(
      prefix,
      [
        ['rpc_calls_total', 'JSON-RPC calls to an endpoint.', calls],
        ['rpc_failures_total', 'JSON-RPC calls without a usable answer.', failures],
        [
          'rpc_impossible_answers_total',
          'Answers that were too long for their method, or nested too deeply. Each suspends the endpoint for a while.',
          impossibleAnswers,
        ],
        ['rpc_avoided', '1 if other endpoints are used first, because the last call failed, or if the endpoint is suspended.', avoided],
      ],
      { endpoint: String(index + 1) },
    ),
  );
}
