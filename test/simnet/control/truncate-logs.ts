/**
 * Truncates log lines as the runtime does (`LogCollector`). A line that would exceed the limit is dropped, the first such line is replaced
 * by `Log truncated`, and shorter lines after it are still added while they fit.
 */
export function truncateLogs(logs: readonly string[], limitBytes: number): readonly string[] {
  const retained: string[] = [];
  let written = 0;
  let warned = false;
  for (const line of logs) {
    const after = written + Buffer.byteLength(line);
    if (after < limitBytes) {
      written = after;
      retained.push(line);
    } else if (!warned) {
      warned = true;
      retained.push('Log truncated');
    }
  }
  return retained;
}
