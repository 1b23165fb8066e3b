/** Work that ends before this time shows no progress. */
const afterMs = 2_000;
const everyMs = 500;

/**
 * Shows one line on standard error, if that is a terminal, while work takes longer than two seconds. `text` returns what is being done. The
 * returned function removes the line.
 */
export function showProgress(
  text: () => string,
  output: Pick<NodeJS.WriteStream, 'isTTY' | 'write' | 'columns'> = process.stderr,
): () => void {
  if (!output.isTTY) return () => undefined;
  const beganMs = performance.now();
  let isShown = false;
  const timer = setInterval(() => {
    const elapsedMs = performance.now() - beganMs;
    if (elapsedMs < afterMs) return;
    isShown = true;
    const line = `${text()}, ${Math.floor(elapsedMs / 1000)} s`;
    output.write(`\r${line.slice(0, Math.max(1, output.columns - 1))}\u001B[K`);
  }, everyMs).unref();
  return () => {
    clearInterval(timer);
    if (isShown) output.write('\r\u001B[K');
  };
}

/** Does `work` and shows the progress of it. */
export async function withProgress<T>(text: string, work: () => Promise<T>): Promise<T> {
  const stop = showProgress(() => text);
  try {
    return await work();
  } finally {
    stop();
  }
}
