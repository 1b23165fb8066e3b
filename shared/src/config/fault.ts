import type { SettingName } from './settings/settings-table.ts';

/** Entries of one comma-separated list. */
const maxEntries = 64;

/** Records what is wrong with a setting. */
export type Fault = (name: string, what: string) => void;
/** The value of a setting; null if it is not set or empty. */
export type Get = (name: SettingName) => string | null;

/** Quotes a value for a message. Only for values that are not secret. */
export function inQuotes(value: string): string {
  return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
}

/** The entries of a comma-separated setting; none if it is not set. */
export function listOf(name: SettingName, get: Get, fault: Fault): readonly string[] {
  const text = get(name);
  if (text === null) return [];
  const entries = text.split(',').map((entry) => entry.trim());
  if (entries.length > maxEntries) fault(name, `has ${entries.length} entries. The maximum is ${maxEntries}`);
  if (new Set(entries).size < entries.length) fault(name, 'has the same entry twice');
  return entries.slice(0, maxEntries);
}
