import { refusedNames } from '@sluice/shared/wire/rest/fields.ts';
import { hasNul, nulFault, percentDecoded, type BodyRead } from './text.ts';

/** Bounds of a form, in addition to its bytes. */
export const formLimits = {
  /** Pairs of name and value. */
  fields: 64,
} as const;

/** Printable ASCII only. Everything else must be percent-encoded (URL Standard, section 5.2). */
const formText = /^[\x21-\x7e]*$/;

/**
 * Reads `application/x-www-form-urlencoded` as strictly as JSON: no name twice, all escapes complete and UTF-8, a bounded number of names. A
 * pair without `=` has an empty value; empty pairs are ignored. Never throws.
 */
export function readForm(bytes: Uint8Array): BodyRead<Readonly<Record<string, string>>> {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  if (!formText.test(text)) return { ok: false, at: '', what: 'must be percent-encoded' };
  const fields = new Map<string, string>();
  for (const pair of text.replaceAll('+', ' ').split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = percentDecoded(equals === -1 ? pair : pair.slice(0, equals));
    if (name === null) return { ok: false, at: '', what: 'must be percent-encoded UTF-8' };
    if (fields.size === formLimits.fields) return { ok: false, at: name, what: `exceeds the maximum of ${formLimits.fields} fields` };
    if (refusedNames.includes(name)) return { ok: false, at: name, what: 'is not an allowed name' };
    if (fields.has(name)) return { ok: false, at: name, what: 'appears twice' };
    const value = percentDecoded(equals === -1 ? '' : pair.slice(equals + 1));
    if (value === null) return { ok: false, at: name, what: 'must be percent-encoded UTF-8' };
    if (hasNul(name) || hasNul(value)) return { ok: false, at: hasNul(name) ? '' : name, what: nulFault };
    fields.set(name, value);
  }
  return { ok: true, value: Object.fromEntries(fields) };
}
