import { refusedNames } from '@sluice/shared/wire/rest/fields.ts';
import { hasNul, nulFault } from './no-nul.ts';

/** Bounds of a form, in addition to its bytes. */
export const formLimits = {
  /** Pairs of name and value. */
  fields: 64,
} as const;

export type FormOutcome =
  | { readonly ok: true; readonly value: Readonly<Record<string, string>> }
  /** `name`: the field, or empty for the whole form. */
  | { readonly ok: false; readonly name: string; readonly what: string };

/** Printable ASCII only. Everything else must be percent-encoded (URL Standard, section 5.2). */
const formText = /^[\x21-\x7e]*$/;

/**
 * Reads `application/x-www-form-urlencoded` as strictly as JSON: no name twice, all escapes complete and UTF-8, a bounded number of names. A
 * pair without `=` has an empty value; empty pairs are ignored. Never throws.
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
    if (fields.size === formLimits.fields) return { ok: false, name, what: `exceeds the maximum of ${formLimits.fields} fields` };
    if (refusedNames.includes(name)) return { ok: false, name, what: 'is not an allowed name' };
    if (fields.has(name)) return { ok: false, name, what: 'appears twice' };
    const value = decoded(equals === -1 ? '' : pair.slice(equals + 1));
    if (value === null) return { ok: false, name, what: 'must be percent-encoded UTF-8' };
    if (hasNul(name) || hasNul(value)) return { ok: false, name: hasNul(name) ? '' : name, what: nulFault };
    fields.set(name, value);
  }
  return { ok: true, value: Object.fromEntries(fields) };
}

/** Null if the escapes are incomplete or not UTF-8. */
function decoded(text: string): string | null {
  const spaced = text.replaceAll('+', ' ');
  if (!spaced.includes('%')) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    return null;
  }
}
