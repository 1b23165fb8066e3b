const reanchorEveryUs = 1_000_000;

let anchorUs = 0;
let anchoredAtMonotonicUs = -Infinity;
let last = 0;

/** Wall clock in integer Unix microseconds; never runs backwards within the process and follows corrections of the system's clock. */
export function nowUs(): number {
  const monotonicUs = performance.now() * 1000;
  if (monotonicUs - anchoredAtMonotonicUs > reanchorEveryUs) {
    // `Date` has only milliseconds. `timeOrigin` has microseconds, but ignores corrections of the clock, so it is used only while both agree.
    const byOrigin = performance.timeOrigin * 1000 + monotonicUs;
    const byDate = Date.now() * 1000;
    anchorUs = Math.abs(byOrigin - byDate) < 2000 ? byOrigin : byDate;
    anchoredAtMonotonicUs = monotonicUs;
  }
  const now = Math.round(anchorUs + (monotonicUs - anchoredAtMonotonicUs));
  if (now > last) last = now;
  return last;
}
