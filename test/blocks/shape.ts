/** A value of a document; `…` may stand for the rest of an object. */
export interface Shown {
  readonly value: unknown;
  readonly isPartial: boolean;
}

/** Parses JSON in which `,…}` means further fields. */
export function shownJson(text: string): Shown {
  const complete = text.replaceAll(/,\s*…\}/g, '}');
  return { value: JSON.parse(complete), isPartial: complete !== text };
}

/** Fields that say what a message is. All others may have another value of the same type. */
const fixed = new Set(['op', 'type', 'channel', 'id', 'code', 'message', 'retryable', 'reason']);

/** How an answer differs in shape from the one in the document; empty if it does not. */
export function differences({ value, isPartial }: Shown, actual: unknown, path = ''): readonly string[] {
  if (typeof value !== typeof actual || Array.isArray(value) !== Array.isArray(actual) || (value === null) !== (actual === null)) {
    return [`${path}: the document has ${JSON.stringify(value)}, the answer ${JSON.stringify(actual)}`];
  }
  if (typeof value !== 'object' || value === null) return [];
  const [shown, real] = [value as Record<string, unknown>, actual as Record<string, unknown>];
  const missing = Object.keys(shown).filter((name) => !(name in real));
  const further = isPartial ? [] : Object.keys(real).filter((name) => !(name in shown));
  return [
    ...missing.map((name) => `${path}.${name} is not in the answer`),
    ...further.map((name) => `${path}.${name} is not in the document`),
    ...Object.keys(shown).flatMap((name) => {
      if (!(name in real)) return [];
      if (fixed.has(name) && shown[name] !== real[name]) return [`${path}.${name} is ${JSON.stringify(real[name])}`];
      return differences({ value: shown[name], isPartial }, real[name], `${path}.${name}`);
    }),
  ];
}
