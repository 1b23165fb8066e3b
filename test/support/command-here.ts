import { Semaphore } from '@sluice/shared/runtime/collections/semaphore.ts';
import { vi } from 'vitest';
import { runCommandLine } from '../../cli/commands/run-command-line.ts';
import { environment, type CommandOptions, type CommandResult } from './command-line.ts';

const oneAtATime = new Semaphore(1);

/**
 * Runs `sluice …` in this process, in the folder and with only the given settings. A new process costs a third of a second. One at a time;
 * not for commands that read standard input or wait for signals.
 */
export function sluiceHere(args: readonly string[], options: CommandOptions): Promise<CommandResult> {
  return oneAtATime.run(() => runHere(args, options));
}

async function runHere(args: readonly string[], options: CommandOptions): Promise<CommandResult> {
  const [folder, env] = [process.cwd(), { ...process.env }];
  const printed = { log: '', error: '' };
  const spies = (['log', 'error'] as const).map((way) =>
    vi.spyOn(console, way).mockImplementation((text: string) => void (printed[way] += `${text}\n`)),
  );
  process.chdir(options.folder);
  setEnvironment(environment(options));
  try {
    const code = await runCommandLine(args);
    return { code, stdout: printed.log, stderr: printed.error };
  } finally {
    setEnvironment(env);
    process.chdir(folder);
    for (const spy of spies) spy.mockRestore();
  }
}

/** In place, because `.env` files are read into the environment of the process itself. */
function setEnvironment(env: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) if (!Object.hasOwn(env, name)) delete process.env[name];
  Object.assign(process.env, env);
}
