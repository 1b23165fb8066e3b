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

/** An effect that ends by a signal. */
export function useSignal(deps: unknown[], effect: (signal: AbortSignal) => void): void {
  useEffect(() => {
    const ended = new AbortController();
    effect(ended.signal);
    return () => ended.abort();
  }, deps);
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
  useSignal([key, everyMs, turn, isReady], (signal) => {
    if (load === null) return;
    const read = async (): Promise<void> => {
      try {
        const value = await load();
        if (!signal.aborted) setState({ key, value, fault: null, readAtMs: Date.now() });
      } catch (error) {
        if (!signal.aborted) setState((last) => ({ ...(last.key === key ? last : blank), fault: faultText(error) }));
      }
    };
    void read();
    if (everyMs === null) return;
    const timer = setInterval(() => {
      if (!document.hidden && requestsLeft.share(performance.now()) >= leastShare) void read();
    }, everyMs);
    signal.addEventListener('abort', () => clearInterval(timer));
  });
  const { value, fault, readAtMs } = state.key === key ? state : blank;
  return { value, fault, readAtMs, reload: () => setTurn((last) => last + 1) };
}
