const waiting = new WeakMap<AbortSignal, Set<() => void>>();

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
  const all = known ?? new Set<() => void>();
  if (known === undefined) {
    waiting.set(signal, all);
    signal.addEventListener('abort', () => all.forEach((one) => one()), { once: true });
  }
  // The same function may wait twice.
  const one = (): void => cut();
  all.add(one);
  return () => void all.delete(one);
}
