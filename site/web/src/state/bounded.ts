/** Does the work once for all calls within a time, at its end. Does nothing after the signal. */
export function soon(work: () => void, afterMs: number, signal?: AbortSignal): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  signal?.addEventListener('abort', () => clearTimeout(timer));
  return () => {
    if (signal?.aborted === true) return;
    timer ??= setTimeout(() => {
      timer = undefined;
      work();
    }, afterMs);
  };
}

/** Drops the oldest entries. */
export function dropOldest(entries: Set<string> | Map<string, unknown>, most: number): void {
  for (const oldest of entries.keys()) {
    if (entries.size <= most) return;
    entries.delete(oldest);
  }
}
