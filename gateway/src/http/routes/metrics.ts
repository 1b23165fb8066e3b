import { metricsEndpoint } from '@sluice/shared/wire/rest/operations.ts';
import { bindEndpoint, type BoundEndpoint } from '../endpoint.ts';

export interface Metric {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge';
  readonly value: number;
  /** Of a fixed set of values each; metrics of one name follow each other. */
  readonly labels: Readonly<Record<string, string>>;
}

export function counter(name: string, help: string, value: number, labels: Metric['labels'] = {}): Metric {
  return { name: `sluice_gateway_${name}`, help, type: 'counter', value, labels };
}

export function gauge(name: string, help: string, value: number, labels: Metric['labels'] = {}): Metric {
  return { name: `sluice_gateway_${name}`, help, type: 'gauge', value, labels };
}

const loopback = /^(127\.|::1$|0000:0000:0000:0000:0000:0000:0000:0001$|(::|0000:0000:0000:0000:0000:)ffff:(127\.|7f))/i;

/** `/metrics` in Prometheus' text form, for callers on this machine; a proxy here does not make others such. */
export function metricsBinding(metrics: () => readonly Metric[]): BoundEndpoint {
  return bindEndpoint(metricsEndpoint, ({ request }) => {
    const forwarded = request.headers.has('x-forwarded-for') || request.headers.has('forwarded') || request.headers.has('x-real-ip');
    if (forwarded || !loopback.test(request.remoteAddress)) return { error: 'NOT_FOUND' };
    return { file: { contentType: metricsEndpoint.contentType, body: textOf(metrics()), headers: {} } };
  });
}

function textOf(metrics: readonly Metric[]): string {
  let last = '';
  const lines = metrics.map(({ name, help, type, value, labels }) => {
    const head = name === last ? '' : `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
    last = name;
    const named = Object.entries(labels).map(([label, text]) => `${label}="${text}"`);
    return `${head}${name}${named.length === 0 ? '' : `{${named.join(',')}}`} ${value}\n`;
  });
  return lines.join('');
}
