import { existsSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { readTextFile } from './text-file.ts';

/** The names in `.env`. */
export interface EnvFile {
  readonly names: readonly string[];
  /** Why the file could not be read; null if it was read or does not exist. */
  readonly fault: string | null;
}

/** Adds the settings in `.env` of the current folder, if it exists, to `env`. It does not replace values that are already set. */
export function loadEnvFile(env: NodeJS.ProcessEnv, file = '.env'): EnvFile {
  if (!existsSync(file)) return { names: [], fault: null };
  try {
    const settings = parseEnv(readTextFile(file));
    for (const [name, value] of Object.entries(settings)) env[name] ??= value;
    return { names: Object.keys(settings), fault: null };
  } catch {
    return { names: [], fault: 'is not a file that can be read' };
  }
}
