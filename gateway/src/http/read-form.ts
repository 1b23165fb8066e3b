/** Bounds of a form, beside its bytes. */
export const formLimits = {
  /** Pairs of name and value. */
  fields: 64,
} as const;

export type FormOutcome =
  | { readonly ok: true; readonly value: Readonly<Record<string, string>> }
  /** `name` of the field; empty where the form as a whole is meant. */
  | { readonly ok: false; readonly name: string; readonly what: string };

const refusedNames: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);
/** Of printable ASCII alone: whatever else is percent-encoded (URL Standard, section 5.2). */
const formText = /^[\x21-\x7e]*$/;

/**
 * `application/x-www-form-urlencoded` as strictly as JSON is read: no name twice, every escape whole and UTF-8, names bounded. A
 * pair without `=` has an empty value; empty pairs are passed over. Never throws.
 */
export function readForm(bytes: Uint8Array): FormOutcome {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  if (!formText.test(text)) return { ok: false, name: '', what: 'must be percent-encoded' };
  const fields = new Map<string, string>();
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decoded(equals === -1 ? pair : pair.slice(0, equals));
    if (name === null) return { ok: false, name: '', what: 'must be percent-encoded UTF-8' };
    if (fields.size === formLimits.fields) return { ok: false, name, what: `is one field too many: at most ${formLimits.fields}` };
    if (refusedNames.has(name)) return { ok: false, name, what: 'is a name that is not allowed' };
    if (fields.has(name)) return { ok: false, name, what: 'is given twice' };
    const value = decoded(equals === -1 ? '' : pair.slice(equals + 1));
    if (value === null) return { ok: false, name, what: 'must be percent-encoded UTF-8' };
    fields.set(name, value);
  }
  return { ok: true, value: Object.fromEntries(fields) };
}

/** Null where the escapes are broken or no UTF-8. */
function decoded(text: string): string | null {
  const spaced = text.replaceAll('+', ' ');
  if (!spaced.includes('%')) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    return null;
  }
}
