import { BusError } from '../bus/bus-error.ts';
import { SettingError } from './setting-error.ts';

/** The text with which a process that cannot start names every fault of its settings; for stderr, whatever the log level. */
export function faultsText(faults: readonly string[]): string {
  return ['These settings are wrong:', ...faults.map((fault) => `  ${fault}`)].join('\n');
}

/** One line on an error that comes from what the settings name; null for any other, which is a fault of sluice. */
export function startFault(error: unknown): string | null {
  if (error instanceof SettingError) return error.message;
  if (error instanceof BusError) return `REDIS_URL: ${error.message}`;
  return null;
}
