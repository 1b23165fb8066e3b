import type { LogEntry } from '@sluice/shared/bus/bus.ts';
import { tsPublishedIn } from '@sluice/shared/codec/json-search.ts';
import type { LatencyHistogram } from '@sluice/shared/operations/latency-histogram.ts';
import { nowUs } from '@sluice/shared/runtime/clock/now-us.ts';

/** At most one sample in this time. */
const minIntervalMs = 1;

/** Samples the time from an event's `ts.published` until it was passed to the transport. */
export class LatencySampler {
  readonly #histogram: LatencyHistogram;
  #sampledAtMs = 0;

  constructor(histogram: LatencyHistogram) {
    this.#histogram = histogram;
  }

  sample({ json }: LogEntry): void {
    const nowMs = performance.now();
    if (nowMs - this.#sampledAtMs < minIntervalMs) return;
    this.#sampledAtMs = nowMs;
    const publishedUs = tsPublishedIn(json);
    if (publishedUs !== null) this.#histogram.record(nowUs() - publishedUs);
  }
}
