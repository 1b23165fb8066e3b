import type { Json, JsonObject } from '@sluice/shared/wire/documents/openapi/json.ts';

/** How a language writes values. */
export interface Notation {
  readonly quote: '"' | "'";
  readonly words: Readonly<Record<'true' | 'false' | 'null', string>>;
  /** A field of an object: name and written value. */
  readonly field: (name: string, value: string) => string;
  /** Around the fields of an object on one line. */
  readonly braces: readonly [string, string];
}

/** A list that would make a line longer than this has one element per line. */
const maxLineChars = 80;

/** A JSON value as a language writes it, on one line. */
export function literal(value: Json, notation: Notation): string {
  if (typeof value === 'string') return quoted(value, notation);
  if (value === null || typeof value === 'boolean') return notation.words[`${value}`];
  if (typeof value !== 'object') return String(value);
  if (Array.isArray(value)) return `[${value.map((one: Json) => literal(one, notation)).join(', ')}]`;
  const [open, close] = notation.braces;
  return `${open}${fields(value as JsonObject, notation).join(', ')}${close}`;
}

/** The fields of an object, each as a language writes it. */
export function fields(value: JsonObject, notation: Notation): string[] {
  return Object.entries(value).map(([name, one]) => notation.field(name, literal(one, notation)));
}

/** Elements between brackets: on one line if they fit, otherwise on a line each, indented by `indent`. */
export function bracketed(open: string, parts: readonly string[], close: string, indent: string): string {
  const line = `${open}${parts.join(', ')}${close}`;
  if (line.length <= maxLineChars && !line.includes('\n')) return line;
  const lines = parts.map((part) => `${indent}${part.replaceAll('\n', `\n${indent}`)},\n`);
  return `${open.trim()}\n${lines.join('')}${close.trim()}`;
}

function quoted(text: string, { quote }: Notation): string {
  const escaped = JSON.stringify(text).slice(1, -1);
  return quote === '"' ? `"${escaped}"` : `'${escaped.replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}
