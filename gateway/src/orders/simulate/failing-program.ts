/** The program that failed, as the runtime's own log lines tell it. */
export interface FailingProgram {
  readonly program: string;
  /** The program of the top-level instruction that it failed in. */
  readonly topProgram: string;
  /** Behind `failed: `. */
  readonly reason: string;
  /** What was logged while the program that failed was running, oldest first. */
  readonly lines: readonly string[];
}

const invokeForm = /^Program ([1-9A-HJ-NP-Za-km-z]{32,44}) invoke \[\d+\]$/;
const endForm = /^Program ([1-9A-HJ-NP-Za-km-z]{32,44}) (success|failed: (.*))$/s;
/** Deepest invoke stack that is followed (nine by SIMD-0268). */
const maxDepth = 64;

/**
 * Finds the innermost program that failed: an error cannot be caught, so the first `failed` is its origin, and those behind it
 * are its callers'. Only the runtime writes lines of this form; what programs log follows `Program log: `. Null where the log was cut
 * before, or is not as the runtime writes it.
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
