import { existsSync, readFileSync } from 'node:fs';
import { loadEnvFile as addToEnvironment } from 'node:process';
import { parseEnv } from 'node:util';

/** The names in `.env`. */
export interface EnvFile {
  readonly names: readonly string[];
  /** Why the file could not be read; null if it was read or does not exist. */
  readonly fault: string | null;
}

/** Adds the settings in `.env` of the current folder, if it exists, to the environment. It does not replace values that are already set. */
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
