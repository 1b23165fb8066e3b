import { systemClock, type Clock } from '@sluice/shared/runtime/clock/clock.ts';

/**
 * Wall time minus the machine's monotonic clock (`process.hrtime`), in milliseconds. All threads share that clock, so the offset is exact however
 * late it arrives, and a thread that applies it never follows a jump of the machine's wall clock by itself.
 */
export function wallOffsetMs(clock: Pick<Clock, 'wallMs'>): number {
  return clock.wallMs() - monotonicMs();
}

/** The clock of the thread that sent the offset. */
export function relayedClock(offsetMs: () => number): Clock {
  return { ...systemClock, wallMs: () => Math.round(offsetMs() + monotonicMs()) };
}

function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
