/** Each label has a fixed set of values, such as an endpoint's number, a venue or a step; never a key, a mint or a wallet. */
export type Labels = Readonly<Record<string, string>>;

/** Number of values at or below `le`, for each bucket in growing order. `count` is the number of all values. */
export interface Distribution {
  readonly buckets: readonly { readonly le: number; readonly count: number }[];
  readonly sum: number;
  readonly count: number;
}

/** One metric of one process, for Prometheus. Times are in seconds, sizes in bytes. */
export type Metric = { readonly name: string; readonly help: string; readonly labels: Labels } & (
  | { readonly type: 'counter' | 'gauge'; readonly value: number }
  | { readonly type: 'histogram'; readonly value: Distribution }
);

export interface MetricMakers {
  readonly counter: (name: string, help: string, value: number, labels?: Labels) => Metric;
  readonly gauge: (name: string, help: string, value: number, labels?: Labels) => Metric;
  readonly histogram: (name: string, help: string, value: Distribution, labels?: Labels) => Metric;
}

/** Functions that create metrics whose names begin with `prefix` and an underscore. */
export function metricsOf(prefix: string): MetricMakers {
  return {
    counter: (name, help, value, labels = {}) => ({ name: `${prefix}_${name}`, help, type: 'counter', value, labels }),
    gauge: (name, help, value, labels = {}) => ({ name: `${prefix}_${name}`, help, type: 'gauge', value, labels }),
    histogram: (name, help, value, labels = {}) => ({ name: `${prefix}_${name}`, help, type: 'histogram', value, labels }),
  };
}

export const metricsContentType = 'text/plain; version=0.0.4; charset=utf-8';

/** Prometheus' text format, version 0.0.4. Each name is described once, before all its samples. */
export function metricsText(metrics: readonly Metric[]): string {
  const families = new Map<string, { readonly head: string; readonly lines: string[] }>();
  for (const metric of metrics) {
    let family = families.get(metric.name);
    if (family === undefined) {
      const head = `# HELP ${metric.name} ${metric.help}\n# TYPE ${metric.name} ${metric.type}\n`;
      families.set(metric.name, (family = { head, lines: [] }));
    }
    family.lines.push(linesOf(metric));
  }
  return [...families.values()].map(({ head, lines }) => head + lines.join('')).join('');
}

function linesOf(metric: Metric): string {
  const { name, labels } = metric;
  if (metric.type !== 'histogram') return lineOf(name, labels, metric.value);
  const { buckets, sum, count } = metric.value;
  const bounded = buckets.map(({ le, count: below }) => lineOf(`${name}_bucket`, { ...labels, le: String(le) }, below));
  const whole = lineOf(`${name}_bucket`, { ...labels, le: '+Inf' }, count);
  return `${bounded.join('')}${whole}${lineOf(`${name}_sum`, labels, sum)}${lineOf(`${name}_count`, labels, count)}`;
}

function lineOf(name: string, labels: Labels, value: number): string {
  const named = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
  return `${name}${named.length === 0 ? '' : `{${named.join(',')}}`} ${value}\n`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
