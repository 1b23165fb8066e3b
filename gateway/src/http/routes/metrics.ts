import { metricsText, type Metric } from '@sluice/shared/operations/metric.ts';
import { metricsEndpoint } from '@sluice/shared/wire/rest/operations.ts';
import { bindEndpoint, type BoundEndpoint } from '../endpoint.ts';

const loopback = /^(127\.|::1$|0000:0000:0000:0000:0000:0000:0000:0001$|(::|0000:0000:0000:0000:0000:)ffff:(127\.|7f))/i;

/** A page whose own name leads to this machine (DNS rebinding) still sends that name. */
const loopbackHost = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i;
/** What a proxy on this machine adds to the requests of others. */
const proxyHeaders = ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via'] as const;

/** `/metrics` in Prometheus' text form, for callers on this machine; neither a proxy nor a web page here makes others such. */
export function metricsBinding(metrics: () => Promise<readonly Metric[]>): BoundEndpoint {
  return bindEndpoint(metricsEndpoint, async ({ request }) => {
    const { headers, remoteAddress } = request;
    const isLocal = loopback.test(remoteAddress) && loopbackHost.test(headers.get('host') ?? '');
    if (!isLocal || proxyHeaders.some((name) => headers.has(name))) return { error: 'NOT_FOUND' };
    return { file: { contentType: metricsEndpoint.contentType, body: metricsText(await metrics()), headers: {} } };
  });
}
