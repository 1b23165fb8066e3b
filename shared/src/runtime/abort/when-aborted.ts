import { TransientMap } from '../collections/transient-map.ts';
import type { Deadline } from './deadline.ts';

/** A source that can end work early. */
export type Abortable = AbortSignal | Deadline;

const waiting = new WeakMap<AbortSignal, TransientMap<object, () => void>>();

/**
 * Calls `cut` when the source fires, or at once if it already has. Returns a function that stops waiting. It is for many pieces of work
 * under one signal: a listener for each costs more, and Node.js warns from the eleventh on.
 */
export function whenAborted(source: Abortable, cut: () => void): () => void {
  if (source.aborted) {
    cut();
    return () => undefined;
  }
  if (!(source instanceof AbortSignal)) return source.listen(cut);
  const known = waiting.get(source);
  const all = known ?? new TransientMap<object, () => void>();
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
