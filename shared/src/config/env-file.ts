import { existsSync } from 'node:fs';

/** Adds the settings of `.env` in the current folder, where there is one, to the environment; what is set already stays. */
export function loadEnvFile(file = '.env'): void {
  if (existsSync(file)) process.loadEnvFile(file);
}
