/** Work that ends before this time shows no progress. */
const afterMs = 2_000;
const everyMs = 500;
/** Used where the terminal does not report its width. */
const defaultColumns = 80;

type Terminal = Pick<NodeJS.WriteStream, 'isTTY' | 'write' | 'columns'>;

/** The progress lines of all running tasks. Only the last one is shown: its task is a step of the others. */
const lines: (() => string)[] = [];

/** Shows one line on a terminal's standard error while work takes longer than two seconds: what `text` returns. The returned function removes it. */
export function showProgress(text: () => string, output: Terminal = process.stderr): () => void {
  if (!output.isTTY) return () => undefined;
  const beganMs = performance.now();
  let isShown = false;
  lines.push(text);
  const timer = setInterval(() => {
    const elapsedMs = performance.now() - beganMs;
    if (elapsedMs < afterMs || lines.at(-1) !== text) return;
    isShown = true;
    const line = `${text()}, ${Math.floor(elapsedMs / 1000)} s`;
    // The cursor returns to the start of the line, so that a log line overwrites it.
    output.write(`\r${line.slice(0, (output.columns || defaultColumns) - 1)}\u001B[K\r`);
  }, everyMs).unref();
  const stop = (): void => {
    clearInterval(timer);
    process.off('exit', stop);
    const at = lines.lastIndexOf(text);
    if (at >= 0) lines.splice(at, 1);
    if (isShown) output.write('\r\u001B[K');
    isShown = false;
  };
  process.once('exit', stop);
  return stop;
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
