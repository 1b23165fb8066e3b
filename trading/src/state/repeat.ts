import { whenAborted } from '@sluice/shared/runtime/abort/when-aborted.ts';
import { systemClock } from '@sluice/shared/runtime/clock/clock.ts';

/** Calls `run` every `everyMs` until the signal fires. This does not keep the process alive. */
export function repeat(everyMs: number, run: () => void, signal: AbortSignal): void {
  whenAborted(signal, systemClock.every(everyMs, run, { ref: false }));
}
