import { spawnSync } from 'node:child_process';

export interface PromtoolRun {
  readonly ok: boolean;
  /** What it printed, both streams. */
  readonly output: string;
}

/** Prometheus' checker of rules and metrics. Tests that need it are skipped if it is not installed. */
export const hasPromtool = spawnSync('promtool', ['--version']).error === undefined;

export function promtool(args: readonly string[], input = ''): PromtoolRun {
  const { status, stdout, stderr, error } = spawnSync('promtool', args, { input, encoding: 'utf8', timeout: 60_000 });
  if (error !== undefined) throw error;
  return { ok: status === 0, output: stdout + stderr };
}
