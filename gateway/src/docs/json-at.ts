import type { Json } from '@sluice/shared/wire/openapi/json.ts';

/** What a path of names leads to. */
export function at(value: Json | undefined, ...names: readonly string[]): Json | undefined {
  return names.reduce<Json | undefined>((node, name) => (node as Record<string, Json> | undefined)?.[name], value);
}

/** A text, number or flag as a text; anything else is none. */
export function words(value: Json | undefined): string {
  return value === undefined || value === null || typeof value === 'object' ? '' : String(value);
}
