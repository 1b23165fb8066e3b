import { existsSync, readFileSync } from 'node:fs';
import { loadEnvFile as addToEnvironment } from 'node:process';
import { parseEnv } from 'node:util';

/** What `.env` held. */
export interface EnvFile {
  readonly names: readonly string[];
  /** Why it could not be read; null where it was, or there is none. */
  readonly fault: string | null;
}

/** Adds the settings of `.env` in the current folder, where there is one, to the environment; what is set already stays. */
export function loadEnvFile(file = '.env'): EnvFile {
  if (!existsSync(file)) return { names: [], fault: null };
  try {
    const names = Object.keys(parseEnv(readFileSync(file, 'utf8')));
    addToEnvironment(file);
    return { names, fault: null };
  } catch {
    return { names: [], fault: 'is not a file that can be read' };
  }
}
