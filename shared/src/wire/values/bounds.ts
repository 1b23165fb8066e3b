import type { SchemaShape } from './values.ts';

/** Longer patterns do not help a reader; the documents have them. */
const maxPatternChars = 80;

/** The bounds of a value in words, for tables; empty if there are none, or if its pattern shows them. */
export function boundsOf(schema: object): string {
  const { minimum, exclusiveMinimum, maximum, maxLength, maxItems } = schema as SchemaShape;
  if (maxItems !== undefined) return `(at most ${maxItems})`;
  if (readablePattern(schema) !== null) return '';
  if (maxLength !== undefined) return `at most ${maxLength} characters`;
  if (exclusiveMinimum !== undefined) return `above ${exclusiveMinimum}`;
  const most = maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum;
  if (minimum !== undefined && most !== undefined) return `${minimum} to ${most}`;
  if (minimum !== undefined) return minimum === -Number.MAX_SAFE_INTEGER ? '' : `from ${minimum}`;
  return most === undefined ? '' : `up to ${most}`;
}

/** The pattern of a text, for tables; null if there is none that a reader can read. */
export function readablePattern(schema: object): string | null {
  const { pattern } = schema as SchemaShape;
  return pattern !== undefined && pattern.length <= maxPatternChars ? pattern : null;
}
