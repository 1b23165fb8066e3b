import type { SettingName } from './settings-table.ts';

/** Records what is wrong with a setting. */
export type Fault = (name: string, what: string) => void;
/** The value of a setting; null if it is not set or empty. */
export type Get = (name: SettingName) => string | null;

/** Quotes a value for a message. Only for values that are not secret. */
export function shown(value: string): string {
  return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
}
