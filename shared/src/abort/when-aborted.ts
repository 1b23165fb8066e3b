import { PassingMap } from '../collections/passing-map.ts';

const waiting = new WeakMap<AbortSignal, PassingMap<object, () => void>>();

/**
 * Calls `cut` when the signal fires, at once where it has. Returns the way to stop waiting. For work of which there is much under one
 * signal: a listener of its own for each costs more, and Node.js warns of the eleventh.
 */
export function whenAborted(signal: AbortSignal, cut: () => void): () => void {
  if (signal.aborted) {
    cut();
    return () => undefined;
  }
  const known = waiting.get(signal);
  const all = known ?? new PassingMap<object, () => void>();
  if (known === undefined) {
    waiting.set(signal, all);
    const cutAll = (): void => {
      for (const one of all.values()) one();
    };
    signal.addEventListener('abort', cutAll, { once: true });
  }
  // The same function may wait twice.
  const name = {};
  all.set(name, cut);
  return () => void all.delete(name);
}
