/** The parts of a JSON schema that bound a value. */
interface Bounded {
  readonly minimum?: unknown;
  readonly exclusiveMinimum?: unknown;
  readonly maximum?: unknown;
  readonly maxLength?: unknown;
  readonly maxItems?: unknown;
  readonly pattern?: unknown;
}

/** Longer patterns do not help a reader; the documents have them. */
const maxPatternChars = 80;

/** The bounds of a value in words, for tables; empty if there are none, or if its pattern shows them. */
export function boundsOf(schema: Bounded): string {
  const { minimum, exclusiveMinimum, maximum, maxLength, maxItems } = schema;
  if (maxItems !== undefined) return `(at most ${String(maxItems)})`;
  if (readablePattern(schema) !== null) return '';
  if (maxLength !== undefined) return `at most ${String(maxLength)} characters`;
  if (exclusiveMinimum !== undefined) return `above ${String(exclusiveMinimum)}`;
  const most = maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum;
  if (minimum !== undefined && most !== undefined) return `${String(minimum)} to ${String(most)}`;
  if (minimum !== undefined) return minimum === -Number.MAX_SAFE_INTEGER ? '' : `from ${String(minimum)}`;
  return most === undefined ? '' : `up to ${String(most)}`;
}

/** The pattern of a text, for tables; null if there is none that a reader can read. */
export function readablePattern({ pattern }: Bounded): string | null {
  return typeof pattern === 'string' && pattern.length <= maxPatternChars ? pattern : null;
}
