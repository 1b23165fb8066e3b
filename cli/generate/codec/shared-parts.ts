import type { Field, Kind } from './kinds.ts';

/** Consecutive fields that stand in every written event. */
export interface SharedPart {
  /** Made of the first and the last name of its fields. */
  readonly name: string;
  readonly fields: readonly Field[];
}

/** Each event has its own. */
const neverShared: ReadonlySet<string> = new Set(['id']);

/** The longest runs of fields that stand in all events in the same order, and whose values can be compared one by one. */
export function sharedParts(events: readonly (readonly Field[])[]): readonly SharedPart[] {
  const [first = [], ...others] = events;
  if (others.length === 0) return [];
  const runs: Field[][] = [];
  let run: Field[] = [];
  const end = (): void => {
    if (run.length > 0) runs.push(run);
    run = [];
  };
  for (const [index, field] of first.entries()) {
    const common = others.reduce<Field | null>((one, fields) => one && commonOf(one, fields), field);
    if (common === null || neverShared.has(field.name) || !isComparable(common)) end();
    else {
      const before = first[index - 1]?.name;
      if (run.length > 0 && !others.every((fields) => nameBefore(fields, field.name) === before)) end();
      // A part begins with a field that is always there: the comma before it is not part of it.
      if (run.length > 0 || !common.optional) run.push(common);
    }
  }
  end();
  return runs.map((fields) => ({ name: nameOf(fields), fields }));
}

function nameOf(fields: readonly Field[]): string {
  const [first, last] = [fields[0]!.name, fields.at(-1)!.name];
  return first === last ? first : `${first}To${last.charAt(0).toUpperCase()}${last.slice(1)}`;
}

function nameBefore(fields: readonly Field[], name: string): string | undefined {
  return fields[fields.findIndex((field) => field.name === name) - 1]?.name;
}

/** The field as both have it: nullable where one of them may be null. */
function commonOf(field: Field, fields: readonly Field[]): Field | null {
  const other = fields.find(({ name }) => name === field.name);
  if (other === undefined || other.optional !== field.optional) return null;
  if (JSON.stringify(withoutNull(other.kind)) !== JSON.stringify(withoutNull(field.kind))) return null;
  return other.kind.kind === 'nullable' ? other : field;
}

function withoutNull(kind: Kind): Kind {
  return kind.kind === 'nullable' ? kind.of : kind;
}

/** An object that may be either missing or null cannot: the values in it are undefined in both cases. */
function isComparable({ kind, optional }: Pick<Field, 'kind' | 'optional'>): boolean {
  return isComparableKind(kind) && !(optional && kind.kind === 'nullable' && kind.of.kind === 'object');
}

function isComparableKind(kind: Kind): boolean {
  if (kind.kind === 'nullable') return isComparableKind(kind.of);
  return kind.kind === 'object' ? kind.fields.every(isComparable) : kind.kind !== 'list';
}

/** The values that a part is made of: paths from the event, with their types. */
export function leavesOf(fields: readonly Field[], at: string): readonly { readonly path: string; readonly type: string }[] {
  return fields.flatMap(({ name, kind, optional }) => {
    const path = `${at}.${name}`;
    const value = withoutNull(kind);
    if (value.kind === 'object') return leavesOf(value.fields, optional || kind.kind === 'nullable' ? `${path}?` : path);
    return [{ path, type: kind.kind === 'nullable' ? `${leafType(kind.of)} | null` : leafType(kind) }];
  });
}

function leafType(kind: Kind): string {
  if (kind.kind === 'constant') return typeof kind.value;
  return kind.kind === 'number' || kind.kind === 'boolean' ? kind.kind : 'string';
}
