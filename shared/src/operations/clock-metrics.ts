import { systemClock } from '../runtime/clock/clock.ts';
import type { AgreedTime } from '../runtime/clock/agreed-time.ts';
import type { Metric, MetricMakers } from './metric.ts';

export function clockMetrics({ gauge }: Pick<MetricMakers, 'gauge'>, time: Pick<AgreedTime, 'aheadMs' | 'nowMs'>): Metric[] {
  const help = 'By how much the clock of this machine is ahead of another clock, or of the agreed time; negative if it is behind.';
  const agreedMs = systemClock.wallMs() - time.nowMs();
  return [['agreed', agreedMs] as const, ...time.aheadMs].map(([of, ms]) => gauge('clock_ahead_seconds', help, ms / 1e3, { of }));
}
