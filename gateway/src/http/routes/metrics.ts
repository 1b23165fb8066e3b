import { metricsText, type Metric } from '@sluice/shared/operations/metric.ts';
import { metricsEndpoint } from '@sluice/shared/wire/rest/operations.ts';
import { bindEndpoint, type BoundEndpoint } from '../endpoint.ts';

const loopback = /^(127\.|::1$|0000:0000:0000:0000:0000:0000:0000:0001$|(::|0000:0000:0000:0000:0000:)ffff:(127\.|7f))/i;

/** `/metrics` in Prometheus' text form, for callers on this machine; a proxy here does not make others such. */
export function metricsBinding(metrics: () => Promise<readonly Metric[]>): BoundEndpoint {
  return bindEndpoint(metricsEndpoint, async ({ request }) => {
    const forwarded = request.headers.has('x-forwarded-for') || request.headers.has('forwarded') || request.headers.has('x-real-ip');
    if (forwarded || !loopback.test(request.remoteAddress)) return { error: 'NOT_FOUND' };
    return { file: { contentType: metricsEndpoint.contentType, body: metricsText(await metrics()), headers: {} } };
  });
}
