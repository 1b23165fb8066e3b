import { useEffect, useState } from 'preact/hooks';
import { faultText, requestsLeft } from '../state/server.ts';

/** The current time, updated every `everyMs`. */
export function useNow(everyMs = 1_000): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

export interface Loaded<T> {
  readonly value: T | null;
  readonly fault: string | null;
  /** When `value` arrived, Unix milliseconds; 0 without one. */
  readonly readAtMs: number;
  readonly reload: () => void;
}

/** While less of the key's limit is left, nothing is read again: quotes and orders come first. */
const leastShare = 0.25;

/** Reads with `load` now and every `everyMs` while the page is visible. A failure leaves the last value. Null instead of `load`: waits. */
export function useLoaded<T>(load: (() => Promise<T>) | null, key: string, everyMs: number | null): Loaded<T> {
  const blank = { key, value: null, fault: null, readAtMs: 0 };
  const [state, setState] = useState<{ key: string; value: T | null; fault: string | null; readAtMs: number }>(blank);
  const [turn, setTurn] = useState(0);
  const isReady = load !== null;
  useEffect(() => {
    if (load === null) return;
    let isCurrent = true;
    const read = async (): Promise<void> => {
      try {
        const value = await load();
        if (isCurrent) setState({ key, value, fault: null, readAtMs: Date.now() });
      } catch (error) {
        if (isCurrent) setState((last) => ({ ...(last.key === key ? last : blank), fault: faultText(error) }));
      }
    };
    void read();
    const timer =
      everyMs === null
        ? null
        : setInterval(() => {
            if (!document.hidden && requestsLeft.share(performance.now()) >= leastShare) void read();
          }, everyMs);
    return () => {
      isCurrent = false;
      if (timer !== null) clearInterval(timer);
    };
  }, [key, everyMs, turn, isReady]);
  const { value, fault, readAtMs } = state.key === key ? state : blank;
  return { value, fault, readAtMs, reload: () => setTurn((last) => last + 1) };
}
