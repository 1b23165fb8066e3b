import type { Static, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { faultsOf } from './schema-faults.ts';

export type Validated<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly fields: Readonly<Record<string, string>> };
export type Validate<T> = (value: unknown) => Validated<T>;

/** Compiles a schema to a check. Its faults are a map from the path of a wrong field (`filter.minSol`) to what is wrong. */
export function validator<S extends TSchema>(schema: S): Validate<Static<S>> {
  const compiled = Compile(schema);
  return (value) => {
    if (compiled.Check(value)) return { ok: true, value };
    const faults = faultsOf(schema, value);
    return { ok: false, fields: faults.size > 0 ? Object.fromEntries(faults) : { '(message)': 'not of the documented form' } };
  };
}
