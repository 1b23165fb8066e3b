import { PassingMap } from '../collections/passing-map.ts';
import type { Deadline } from './deadline.ts';

/** What ends work early. */
export type Abortable = AbortSignal | Deadline;

const waiting = new WeakMap<AbortSignal, PassingMap<object, () => void>>();

/**
 * Calls `cut` when the source fires, at once where it has. Returns the way to stop waiting. For work of which there is much under one
 * signal: a listener of its own for each costs more, and Node.js warns of the eleventh.
 */
export function whenAborted(source: Abortable, cut: () => void): () => void {
  if (source.aborted) {
    cut();
    return () => undefined;
  }
  if (!(source instanceof AbortSignal)) return source.listen(cut);
  const known = waiting.get(source);
  const all = known ?? new PassingMap<object, () => void>();
  if (known === undefined) {
    waiting.set(source, all);
    const cutAll = (): void => {
      for (const one of all.values()) one();
    };
    source.addEventListener('abort', cutAll, { once: true });
  }
  // The same function may wait twice.
  const name = {};
  all.set(name, cut);
  return () => void all.delete(name);
}
