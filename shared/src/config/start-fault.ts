import { BusError } from '../bus/bus-error.ts';
import { SettingError } from './settings/setting-error.ts';

/** The text that lists all faults of the settings. */
export function faultsText(faults: readonly string[]): string {
  return ['These settings are wrong:', ...faults.map((fault) => `  ${fault}`)].join('\n');
}

/** One line for an error that a setting caused; null for any other error. */
export function startFault(error: unknown): string | null {
  if (error instanceof SettingError) return error.message;
  if (error instanceof BusError) return `REDIS_URL: ${error.message}`;
  return null;
}
