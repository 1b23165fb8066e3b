/** The target of a row that has none. */
export const noTarget = 'none stated';

/** One line of the benchmark's table. */
export interface BenchRow {
  readonly name: string;
  /** What was measured, with its unit. */
  readonly figure: string;
  readonly target: string;
  readonly pass: boolean;
  readonly note?: string;
}
