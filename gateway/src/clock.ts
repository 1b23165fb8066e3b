/** Beyond this the wall clock has been set, or has drifted from the steady one. */
const toleranceMs = 2;

let originMs = performance.timeOrigin;

/** The wall clock in integer microseconds since 1970, finer than `Date.now()`; `anchorClock` keeps it true. */
export function nowUs(): number {
  return Math.round((originMs + performance.now()) * 1000);
}

/** Sets `nowUs` back to the wall clock where the two have come apart; called once a second. */
export function anchorClock(): void {
  const driftMs = Date.now() - (originMs + performance.now());
  // Date.now() is cut to whole milliseconds.
  if (Math.abs(driftMs) > toleranceMs) originMs += driftMs;
}
