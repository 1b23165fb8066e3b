import { terminalText } from '../runtime/log/terminal-text.ts';
import type { Config } from './config.ts';
import { loadEnvFile } from './env-file.ts';
import { readSettings, type SettingsOptions } from './settings/settings.ts';
import { faultsText, startFault } from './start-fault.ts';

const endsWithinMs = 5_000;

/**
 * Runs a process with the settings in `env` and `.env`. If a setting prevents the start, it prints the fault on stderr, at every log level,
 * and the process exits with 1. For `requires`, see `readSettings`. Rejects if `main` fails for another reason.
 */
export async function runOnSettings(
  env: NodeJS.ProcessEnv,
  requires: NonNullable<SettingsOptions['requires']>,
  main: (config: Config) => Promise<void>,
): Promise<void> {
  const envFile = loadEnvFile(env);
  const settings = readSettings(env, { requires, envFile });
  if (!settings.ok) {
    refuse(faultsText(settings.faults));
    return;
  }
  try {
    await main(settings.config);
  } catch (error) {
    const fault = startFault(error);
    if (fault === null) throw error;
    refuse(fault);
  }
}

/** Exits even if something keeps the process alive, because a service manager restarts it only after it has exited. */
function refuse(text: string): void {
  process.stderr.write(`${terminalText(text)}\n`);
  process.exitCode = 1;
  setTimeout(() => process.exit(), endsWithinMs).unref();
}
