/**
 * Cuts log lines as the runtime does (`LogCollector`): a line that would reach the limit is not taken, the first such one
 * leaves `Log truncated` in its place, and shorter lines after it still enter while they fit.
 */
export function truncateLogs(logs: readonly string[], limitBytes: number): readonly string[] {
  const kept: string[] = [];
  let written = 0;
  let warned = false;
  for (const line of logs) {
    const after = written + Buffer.byteLength(line);
    if (after < limitBytes) {
      written = after;
      kept.push(line);
    } else if (!warned) {
      warned = true;
      kept.push('Log truncated');
    }
  }
  return kept;
}
