import type { Logger } from '@sluice/shared/log/log.ts';
import type { DecodeFault } from './pipeline/decode.ts';
import type { IngestStats } from './stats.ts';

/** One warning a venue and kind in this time, whatever the number of faults. */
const faultEveryMs = 10_000;
/** Faults kept for the report, the newest for each venue and kind. */
const maxFaults = 64;

interface FaultLine {
  newest: DecodeFault;
  since: number;
  total: number;
  toldAtMs: number;
}

/** Tells the log, at a bounded rate, what could not be decoded and what was lost. */
export class DecodeReport {
  readonly #log: Logger;
  readonly #faults = new Map<string, FaultLine>();
  #dropped = 0;
  #malformedFrames = 0;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** The newest fault of each venue and kind, with how many there were. */
  get faults(): readonly (DecodeFault & { readonly total: number })[] {
    return [...this.#faults.values()].map(({ newest, total }) => ({ ...newest, total }));
  }

  note(fault: DecodeFault): void {
    const name = `${fault.venue} ${fault.kind}`;
    const line = this.#faults.get(name);
    if (line !== undefined) {
      line.newest = fault;
      line.since++;
      line.total++;
    } else if (this.#faults.size < maxFaults) {
      this.#faults.set(name, { newest: fault, since: 1, total: 1, toldAtMs: Number.NEGATIVE_INFINITY });
    }
  }

  /** Called once a second. */
  tell(stats: IngestStats): void {
    const nowMs = performance.now();
    for (const line of this.#faults.values()) {
      if (line.since === 0 || nowMs - line.toldAtMs < faultEveryMs) continue;
      this.#log.warn({ ...line.newest, count: line.since, total: line.total }, 'undecodable_events');
      line.since = 0;
      line.toldAtMs = nowMs;
    }
    const { dropped, buffered } = stats.publisher;
    if (dropped > this.#dropped) this.#log.error({ events: dropped - this.#dropped, total: dropped, buffered }, 'events_dropped');
    this.#dropped = dropped;
    const malformed = stats.notifications.malformed + stats.endpoints.reduce((sum, endpoint) => sum + endpoint.malformedFrames, 0);
    if (malformed > this.#malformedFrames) {
      this.#log.warn({ frames: malformed - this.#malformedFrames, total: malformed }, 'malformed_frames');
      this.#malformedFrames = malformed;
    }
  }
}
