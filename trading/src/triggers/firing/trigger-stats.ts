import { LatencyHistogram } from '@sluice/shared/operations/latency-histogram.ts';
import type { StoredTrigger, TriggerChange } from '@sluice/gateway/store/trigger-model/trigger.ts';

/** Ends of a trigger that are counted. */
const countedEnds = ['fired', 'cancelled', 'expired', 'failed'] as const;
type CountedEnd = (typeof countedEnds)[number];

/** What happened to the triggers of this gateway. */
export class TriggerStats {
  readonly ended: Record<CountedEnd, number> = { fired: 0, cancelled: 0, expired: 0, failed: 0 };
  /** Firings that began, and those of them that began late. */
  begun = 0;
  late = 0;
  /** Microseconds from the tick that fired a trigger to the answer for its sent order. */
  readonly sentUs = new LatencyHistogram();

  /** Call for each change that was stored. */
  changed({ state, late }: TriggerChange): void {
    if (state === 'firing') {
      this.begun++;
      if (late === true) this.late++;
    } else if (state !== undefined && isCounted(state)) this.ended[state]++;
  }

  sent(ms: number): void {
    this.sentUs.record(Math.round(ms * 1_000));
  }
}

function isCounted(state: StoredTrigger['state']): state is CountedEnd {
  return countedEnds.some((end) => end === state);
}
