import type { Static, TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';

export type Validated<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly fields: Readonly<Record<string, string>> };
export type Validate<T> = (value: unknown) => Validated<T>;

/** Faults named in one answer; more of them are left out. */
const maxFields = 16;

/** Compiles a schema to a check that names every wrong field by its path (`filter.minSol`) with what is wrong with it. */
export function validator<S extends TSchema>(schema: S): Validate<Static<S>> {
  const compiled = Compile(schema);
  return (value) => (compiled.Check(value) ? { ok: true, value } : { ok: false, fields: faults(compiled, value) });
}

function faults(compiled: Validator, value: unknown): Record<string, string> {
  const found = new Map<string, string>();
  const note = (path: string, what: string): void => {
    if (found.size < maxFields && !found.has(path)) found.set(path, what);
  };
  for (const error of compiled.Errors(value)) {
    const path = error.instancePath.slice(1).replaceAll('/', '.');
    // An unknown field shows as the schema `false` at its own path, and once more in a list at its parent's.
    if (error.keyword === 'boolean') note(path, 'unknown field');
    else if (error.keyword === 'required') {
      for (const name of error.params.requiredProperties) note(path === '' ? name : `${path}.${name}`, 'required');
    } else if (error.keyword === 'enum')
      note(path, `must be one of ${error.params.allowedValues.map((allowed) => JSON.stringify(allowed)).join(', ')}`);
    else if (error.keyword === 'pattern') note(path, 'not of the documented form');
    else if (error.keyword !== 'additionalProperties' && error.keyword !== 'anyOf') note(path === '' ? '(message)' : path, error.message);
  }
  return Object.fromEntries(found);
}
