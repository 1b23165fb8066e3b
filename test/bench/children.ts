import { spawnSync, type ChildProcess } from 'node:child_process';

/** The measured servers run on one core, everything else on the other one, where `taskset` exists. */
export const serverCore = '0';
export const loadCore = '1';
export const canPin = spawnSync('taskset', ['--version']).status === 0;

/** Ends a process and waits until it has ended. */
export async function end(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  await exited;
}
