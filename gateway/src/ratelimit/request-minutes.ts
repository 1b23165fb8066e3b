import { usageMinutes } from '@sluice/shared/wire/rest/account/usage.ts';
import { Recent } from '@sluice/shared/runtime/collections/recent.ts';

const minuteMs = 60_000;
/** Keys that are counted, about a kilobyte each. The least recently used ones are forgotten first. */
const maxKeys = 4_096;

/** Requests of a key in each of the last minutes, oldest first. The last minute is the current one. */
export interface MinuteCounts {
  /** Start of the first minute, Unix time in milliseconds. */
  readonly startMs: number;
  readonly accepted: number[];
  readonly refused: number[];
}

interface Counts {
  /** Number of the newest minute since 1970. Minute `m` is at index `m % usageMinutes`. */
  minute: number;
  readonly accepted: Uint32Array;
  readonly refused: Uint32Array;
}

/** Counts the requests of each key by minute, on this gateway since its start. */
export class RequestMinutes {
  readonly #counts: Recent<Counts>;

  constructor(capacity = maxKeys) {
    this.#counts = new Recent(capacity);
  }

  note(keyId: string, admitted: boolean, nowMs: number, requests = 1): void {
    let counts = this.#counts.get(keyId);
    if (counts === undefined) {
      counts = { minute: minuteOf(nowMs), accepted: new Uint32Array(usageMinutes), refused: new Uint32Array(usageMinutes) };
      this.#counts.set(keyId, counts);
    }
    advance(counts, minuteOf(nowMs));
    const at = counts.minute % usageMinutes;
    const of = admitted ? counts.accepted : counts.refused;
    of[at] = of[at]! + requests;
  }

  /** Zeros for a key that made no request. */
  of(keyId: string, nowMs: number): MinuteCounts {
    const counts = this.#counts.peek(keyId);
    const newest = Math.max(minuteOf(nowMs), counts?.minute ?? 0);
    const minutes = Array.from({ length: usageMinutes }, (_, index) => newest - usageMinutes + 1 + index);
    const read = (of: Uint32Array | undefined): number[] =>
      minutes.map((minute) => (of === undefined || !isRetained(counts!, minute) ? 0 : of[minute % usageMinutes]!));
    return { startMs: minutes[0]! * minuteMs, accepted: read(counts?.accepted), refused: read(counts?.refused) };
  }
}

/** Empties the minutes that have passed since the last request. A clock that was set back counts in the newest minute. */
function advance(counts: Counts, minute: number): void {
  const passed = Math.min(usageMinutes, minute - counts.minute);
  for (let back = 0; back < passed; back++) {
    counts.accepted[(minute - back) % usageMinutes] = 0;
    counts.refused[(minute - back) % usageMinutes] = 0;
  }
  counts.minute = Math.max(counts.minute, minute);
}

function isRetained({ minute: newest }: Counts, minute: number): boolean {
  return minute <= newest && minute > newest - usageMinutes;
}

function minuteOf(nowMs: number): number {
  return Math.floor(nowMs / minuteMs);
}
