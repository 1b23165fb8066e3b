/** A larger difference means that the wall clock was set, or has drifted from the monotonic clock. */
const toleranceMs = 2;

let originMs = performance.timeOrigin;

/** The wall clock in integer microseconds since 1970. Finer than `Date.now()`; `anchorClock` corrects it. */
export function nowUs(): number {
  return Math.round((originMs + performance.now()) * 1000);
}

/** Sets `nowUs` to the wall clock if the two differ. Call it once a second. */
export function anchorClock(): void {
  const driftMs = Date.now() - (originMs + performance.now());
  // `Date.now()` is truncated to whole milliseconds.
  if (Math.abs(driftMs) > toleranceMs) originMs += driftMs;
}
