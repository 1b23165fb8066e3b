/** A semaphore with a bounded queue: at most `maxRunning` at a time; the others wait in order of arrival. */
export interface Turns {
  /** Resolves with a function that gives the turn back; call it once. Resolves with null if too many wait already. */
  take(): Promise<(() => void) | null>;
  /** Whether `take` would resolve without waiting. */
  readonly free: boolean;
}

export function createTurns(maxRunning: number, maxWaiting: number): Turns {
  const waiting: (() => void)[] = [];
  let running = 0;

  function releaser(): () => void {
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      const next = waiting.shift();
      // Passes the turn on directly, so that a newcomer cannot get it first.
      if (next === undefined) running--;
      else next();
    };
  }

  return {
    get free() {
      return running < maxRunning;
    },
    async take() {
      if (running < maxRunning) {
        running++;
        return releaser();
      }
      if (waiting.length >= maxWaiting) return null;
      await new Promise<void>((resolve) => waiting.push(resolve));
      return releaser();
    },
  };
}
