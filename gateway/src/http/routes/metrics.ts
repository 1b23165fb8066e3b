import { isLoopback, nameOfHost } from '@sluice/shared/config/loopback.ts';
import { metricsText, type Metric } from '@sluice/shared/operations/metric.ts';
import { metricsEndpoint } from '@sluice/shared/wire/rest/operations.ts';
import { bindEndpoint, type BoundEndpoint } from '../endpoint.ts';

/** Headers that a proxy on this machine adds to requests from elsewhere. */
const proxyHeaders = ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via'] as const;

/** `/metrics` in Prometheus' text format, for callers on this machine only, even if a proxy or a browser runs on it. */
export function metricsBinding(metrics: () => Promise<readonly Metric[]>): BoundEndpoint {
  return bindEndpoint(metricsEndpoint, async ({ request }) => {
    const { headers, remoteAddress } = request;
    // A web page whose name was pointed here (DNS rebinding) sends its own name.
    const isLocal = isLoopback(remoteAddress) && isLoopback(nameOfHost(headers.get('host') ?? '') ?? '');
    if (!isLocal || proxyHeaders.some((name) => headers.has(name))) return { error: 'NOT_FOUND' };
    return { file: { contentType: metricsEndpoint.contentType, body: metricsText(await metrics()), headers: {} } };
  });
}
