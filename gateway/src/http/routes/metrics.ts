import { metricsEndpoint } from '@sluice/shared/wire/rest/operations.ts';
import { bindEndpoint, type BoundEndpoint } from '../endpoint.ts';

export interface Metric {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge';
  readonly value: number;
}

const loopback = /^(127\.|::1$|0000:0000:0000:0000:0000:0000:0000:0001$|(::|0000:0000:0000:0000:0000:)ffff:(127\.|7f))/i;

/** `/metrics` in Prometheus' text form, for callers on this machine; a proxy here does not make others such. */
export function metricsBinding(metrics: () => readonly Metric[]): BoundEndpoint {
  return bindEndpoint(metricsEndpoint, ({ request }) => {
    const forwarded = request.headers.has('x-forwarded-for') || request.headers.has('forwarded') || request.headers.has('x-real-ip');
    if (forwarded || !loopback.test(request.remoteAddress)) return { error: 'NOT_FOUND' };
    const lines = metrics().map(({ name, help, type, value }) => `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${name} ${value}\n`);
    return { file: { contentType: metricsEndpoint.contentType, body: lines.join(''), headers: {} } };
  });
}
