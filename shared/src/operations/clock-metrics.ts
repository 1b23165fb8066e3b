import { systemClock } from '../runtime/clock/clock.ts';
import type { AgreedTime } from '../runtime/clock/agreed-time.ts';
import { inSeconds, type MetricRow } from './metric.ts';

export function clockRow(time: Pick<AgreedTime, 'aheadMs' | 'nowMs'>): MetricRow {
  const help = 'By how much the clock of this machine is ahead of another clock, or of the agreed time; negative if it is behind.';
  const agreedMs = systemClock.wallMs() - time.nowMs();
  const all = [['agreed', agreedMs] as const, ...time.aheadMs];
  return ['clock_ahead_seconds', help, { of: Object.fromEntries(all.map(([of, ms]) => [of, inSeconds(ms)])) }];
}
