import type { AgreedTime } from '../clock/agreed-time.ts';
import type { Metric, MetricMakers } from './metric.ts';

export function clockMetrics({ gauge }: Pick<MetricMakers, 'gauge'>, { aheadMs }: Pick<AgreedTime, 'aheadMs'>): Metric[] {
  const help = 'By how much the clock of this machine is ahead of another clock; negative if it is behind.';
  return [...aheadMs].map(([party, ms]) => gauge('clock_ahead_seconds', help, ms / 1e3, { of: party }));
}
