/** The program that failed, read from the runtime's own log lines. */
export interface FailingProgram {
  readonly program: string;
  /** The program of the top-level instruction. */
  readonly topProgram: string;
  /** The text after `failed: `. */
  readonly reason: string;
  /** Lines that were logged while the failing program ran, oldest first. */
  readonly lines: readonly string[];
}

const invokeForm = /^Program ([1-9A-HJ-NP-Za-km-z]{32,44}) invoke \[\d+\]$/;
const endForm = /^Program ([1-9A-HJ-NP-Za-km-z]{32,44}) (success|failed: (.*))$/s;
/** Deepest invoke stack that is read; the runtime allows nine (SIMD-0268). */
const maxDepth = 64;

/**
 * Finds the innermost program that failed. Programs cannot catch an error, so the first `failed` line names its origin, and later ones name the
 * callers. Only the runtime writes such lines; a program's own lines begin with `Program log: `. Null if the log is truncated before that line,
 * or malformed.
 */
export function failingProgram(logs: readonly string[]): FailingProgram | null {
  const stack: { readonly program: string; readonly lines: string[] }[] = [];
  for (const line of logs) {
    if (line === 'Log truncated') return null;
    const invoked = invokeForm.exec(line)?.[1];
    if (invoked !== undefined) {
      if (stack.length === maxDepth) return null;
      stack.push({ program: invoked, lines: [] });
      continue;
    }
    const end = endForm.exec(line);
    if (end === null) {
      stack.at(-1)?.lines.push(line);
      continue;
    }
    const top = stack[0];
    const ended = stack.pop();
    if (top === undefined || ended === undefined || ended.program !== end[1]) return null;
    if (end[2] !== 'success') return { program: ended.program, topProgram: top.program, reason: end[3] ?? '', lines: ended.lines };
  }
  return null;
}
