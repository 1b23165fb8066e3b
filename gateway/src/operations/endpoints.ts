import { isLoopback, nameOfHost } from '@sluice/shared/config/loopback.ts';
import { metricsText, type Metric } from '@sluice/shared/operations/metric.ts';
import { unhealthyParts, partReports, type Parts } from '@sluice/shared/operations/readiness.ts';
import { liveEndpoint, metricsEndpoint, readyEndpoint } from '@sluice/shared/wire/rest/operations/operations.ts';
import { bindEndpoint, type BoundEndpoint } from '../http/endpoint.ts';

/** `/livez`: the event loop runs. `/readyz`: every part of this gateway works, and it is not about to restart. */
export function healthEndpoints(
  health: () => { readonly draining: boolean; readonly parts: Parts; readonly tradingRole: 'self' | 'other' | null },
): BoundEndpoint[] {
  return [
    bindEndpoint(liveEndpoint, () => ({ json: { live: true as const } })),
    bindEndpoint(readyEndpoint, ({ query: { exclude } }) => {
      const { draining, parts, tradingRole } = health();
      const excluded = new Set(exclude === undefined ? [] : exclude.split(','));
      const unknown = [...excluded].filter((name) => !Object.hasOwn(parts, name));
      if (unknown.length > 0) {
        const known = Object.keys(parts).join(', ');
        return { error: 'INVALID_REQUEST', details: { fields: { exclude: `must be some of ${known}` } } };
      }
      const reported = { parts: partReports(parts), tradingRole };
      if (draining) return { error: 'DRAINING', details: reported };
      const notReady = unhealthyParts(parts).filter((name) => !excluded.has(name));
      if (notReady.length === 0) return { json: { ready: true as const, ...reported } };
      return { error: 'UPSTREAM_UNAVAILABLE', message: `Not ready: ${notReady.join(', ')}.`, details: reported };
    }),
  ];
}

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
