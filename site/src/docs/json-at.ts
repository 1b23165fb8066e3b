import type { Json } from '@sluice/shared/wire/documents/openapi/json.ts';

/** The value at a path of names. */
export function at(value: Json | undefined, ...names: readonly string[]): Json | undefined {
  return names.reduce<Json | undefined>((node, name) => (node as Record<string, Json> | undefined)?.[name], value);
}

/** A string, number or boolean as a string; empty for anything else. */
export function words(value: Json | undefined): string {
  return value === undefined || value === null || typeof value === 'object' ? '' : String(value);
}
