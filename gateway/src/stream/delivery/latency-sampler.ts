import type { LogEntry } from '@sluice/shared/bus/bus.ts';
import type { LatencyHistogram } from '@sluice/shared/operations/latency-histogram.ts';
import { nowUs } from '../../clock.ts';

/** At most one sample in this time. */
const minIntervalMs = 1;
const publishedMark = Buffer.from('"published":');

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
    const bytes = Buffer.from(json.buffer, json.byteOffset, json.byteLength);
    const at = bytes.indexOf(publishedMark);
    if (at === -1) return;
    let published = 0;
    for (let i = at + publishedMark.length; bytes[i]! >= 0x30 && bytes[i]! <= 0x39; i++) published = published * 10 + bytes[i]! - 0x30;
    this.#histogram.record(nowUs() - published);
  }
}
