/** Each label has a fixed set of values, such as an endpoint's number, a venue or a step; never a key, a mint or a wallet. */
export type Labels = Readonly<Record<string, string>>;

/** Number of values at or below `le`, for each bucket in growing order. `count` is the number of all values. */
export interface Distribution {
  readonly buckets: readonly { readonly le: number; readonly count: number }[];
  readonly sum: number;
  readonly count: number;
}

/** True is written as 1, false as 0, and a number that is unknown (null) as -1. */
type Value = number | boolean | null | Distribution;

/**
 * One metric: its name without the prefix, its help, and its value, or its values by those of one label: `{ kind: { read: 3, unread: 0 } }`.
 * A name that ends with `_total` is a counter. Times are in seconds, sizes in bytes.
 */
export type MetricRow = readonly [name: string, help: string, value: Value | Readonly<Record<string, Readonly<Record<string, Value>>>>];

/** One sample of one process, for Prometheus. */
export interface Metric {
  readonly name: string;
  readonly help: string;
  readonly labels: Labels;
  readonly value: number | Distribution;
}

/** A time for a metric; null if it is unknown. */
export function inSeconds(ms: number | null): number | null {
  return ms === null ? null : ms / 1e3;
}

/** The samples of a table of metrics. `labels`: those of all of them. */
export function metricsOf(prefix: string, rows: readonly MetricRow[], labels: Labels = {}): Metric[] {
  return rows.flatMap(([name, help, value]) => {
    const metric = (of: Value, more: Labels = {}): Metric => {
      return { name: `${prefix}_${name}`, help, labels: { ...labels, ...more }, value: isDistribution(of) ? of : Number(of ?? -1) };
    };
    if (typeof value !== 'object' || value === null || isDistribution(value)) return metric(value);
    return Object.entries(value).flatMap(([label, values]) => Object.entries(values).map(([text, of]) => metric(of, { [label]: text })));
  });
}

function isDistribution(value: MetricRow[2]): value is Distribution {
  return typeof value === 'object' && value !== null && Array.isArray(value['buckets']);
}

export const metricsContentType = 'text/plain; version=0.0.4; charset=utf-8';

/** Prometheus' text format, version 0.0.4. Each name is described once, before all its samples. */
export function metricsText(metrics: readonly Metric[]): string {
  const families = new Map<string, string>();
  for (const metric of metrics) {
    const { name, help, value } = metric;
    const type = typeof value === 'object' ? 'histogram' : name.endsWith('_total') ? 'counter' : 'gauge';
    const before = families.get(name) ?? `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
    families.set(name, before + linesOf(metric));
  }
  return [...families.values()].join('');
}

function linesOf({ name, labels, value }: Metric): string {
  if (typeof value !== 'object') return lineOf(name, labels, value);
  const { buckets, sum, count } = value;
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
