/** At most so many at a time; further ones wait in the order in which they came. */
export interface Turns {
  /** Resolves to what gives the turn back (once); null where too many wait. */
  take(): Promise<(() => void) | null>;
  /** Whether nobody would have to wait. */
  readonly free: boolean;
}

export function createTurns(maxRunning: number, maxWaiting: number): Turns {
  const waiting: (() => void)[] = [];
  let running = 0;

  function giver(): () => void {
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      const next = waiting.shift();
      // The turn goes from hand to hand: whoever comes in between finds none free.
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
        return giver();
      }
      if (waiting.length >= maxWaiting) return null;
      await new Promise<void>((resolve) => waiting.push(resolve));
      return giver();
    },
  };
}
