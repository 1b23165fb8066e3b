import type { SettingName } from './settings-table.ts';

/** Notes what is wrong with a setting. */
export type Fault = (name: string, what: string) => void;
/** A setting's value; null where it is not set, or empty. */
export type Get = (name: SettingName) => string | null;

/** For values that are no secret. */
export function shown(value: string): string {
  return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
}
