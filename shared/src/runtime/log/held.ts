import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';

/** The name under which threads inherit the shared number: 0 while the lines are held, then 1. */
const name = 'sluice-log-held';
const [held, released] = [0, 1] as const;
/** Lines that one log holds. After that it writes all of them at once. */
const maxHeldLines = 1_000;

interface Destination {
  write(line: string): unknown;
}

/**
 * From now on, logs that are created in this process and its threads hold their lines. `release` makes them write; so do the end of the process
 * and `forMs`, in milliseconds. Call it before the logs and threads are created.
 */
export function holdLogs(forMs: number): { release(): void } {
  const state = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  setEnvironmentData(name, state);
  const release = (): void => {
    clearTimeout(timer);
    Atomics.store(state, 0, released);
    Atomics.notify(state, 0);
  };
  const timer = setTimeout(release, forMs).unref();
  return { release };
}

/** `destination`, or one that passes the lines on to it once they are released. */
export function heldDestination(destination: Destination): Destination {
  const state = getEnvironmentData(name);
  if (!(state instanceof Int32Array) || Atomics.load(state, 0) !== held) return destination;
  const lines: string[] = [];
  let isHeld = true;
  const flush = (): void => {
    isHeld = false;
    for (const line of lines.splice(0)) destination.write(line);
  };
  const { async: waits, value } = Atomics.waitAsync(state, 0, held);
  if (!waits) return destination;
  void value.then(flush);
  process.once('exit', flush);
  return {
    write: (line) => {
      if (isHeld && Atomics.load(state, 0) === released) flush();
      if (!isHeld) return destination.write(line);
      lines.push(line);
      if (lines.length >= maxHeldLines) flush();
      return true;
    },
  };
}
