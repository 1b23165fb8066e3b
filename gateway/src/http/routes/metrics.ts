import { errorAnswer, textAnswer } from '../answers.ts';
import type { Route } from '../router.ts';

export interface Metric {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge';
  readonly value: number;
}

const contentType = 'text/plain; version=0.0.4; charset=utf-8';
const loopback = /^(127\.|::1$|0000:0000:0000:0000:0000:0000:0000:0001$|(::|0000:0000:0000:0000:0000:)ffff:(127\.|7f))/i;

/** `/metrics` in Prometheus' text form, for callers on this machine; a proxy here does not make others such. */
export function metricsRoute(metrics: () => readonly Metric[]): Route {
  return {
    method: 'GET',
    path: '/metrics',
    handler: (request) => {
      const forwarded = request.headers.has('x-forwarded-for') || request.headers.has('forwarded') || request.headers.has('x-real-ip');
      if (forwarded || !loopback.test(request.remoteAddress)) return errorAnswer(request, 'NOT_FOUND');
      const lines = metrics().map(({ name, help, type, value }) => `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${name} ${value}\n`);
      return textAnswer(request, contentType, lines.join(''));
    },
  };
}
