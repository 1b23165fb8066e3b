import type { Field, Kind } from './kinds.ts';

/** Consecutive fields that every written event has. */
export interface SharedPart {
  /** Combined from the names of the first and the last field. */
  readonly name: string;
  readonly fields: readonly Field[];
}

/** Fields that differ in every event. */
const neverShared: ReadonlySet<string> = new Set(['id']);

/** The longest runs of fields that all events have in the same order, and whose values can be compared one by one. */
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
      // A part begins with a required field, because the comma before it is not in the part.
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

/** The field that both events have; nullable if it is nullable in one of them. */
function commonOf(field: Field, fields: readonly Field[]): Field | null {
  const other = fields.find(({ name }) => name === field.name);
  if (other === undefined || other.optional !== field.optional) return null;
  if (JSON.stringify(withoutNull(other.kind)) !== JSON.stringify(withoutNull(field.kind))) return null;
  return other.kind.kind === 'nullable' ? other : field;
}

function withoutNull(kind: Kind): Kind {
  return kind.kind === 'nullable' ? kind.of : kind;
}

/** An object that may be missing or null cannot be compared: its values are undefined in both cases. */
function isComparable({ kind, optional }: Pick<Field, 'kind' | 'optional'>): boolean {
  return isComparableKind(kind) && !(optional && kind.kind === 'nullable' && kind.of.kind === 'object');
}

function isComparableKind(kind: Kind): boolean {
  if (kind.kind === 'nullable') return isComparableKind(kind.of);
  return kind.kind === 'object' ? kind.fields.every(isComparable) : kind.kind !== 'list';
}

/** A value in a part: its path from the event, its type, and whether it may be undefined. */
interface Leaf {
  readonly path: string;
  readonly type: string;
  readonly mayBeAbsent: boolean;
}

export function leavesOf(fields: readonly Field[], at: string): readonly Leaf[] {
  return fields.flatMap(({ name, kind, optional }) => {
    const path = `${at}.${name}`;
    const value = withoutNull(kind);
    if (value.kind === 'object') return leavesOf(value.fields, optional || kind.kind === 'nullable' ? `${path}?` : path);
    const type = kind.kind === 'nullable' ? `${leafType(kind.of)} | null` : leafType(kind);
    return [{ path, type, mayBeAbsent: optional || at.includes('?') }];
  });
}

function leafType(kind: Kind): string {
  if (kind.kind === 'constant') return typeof kind.value;
  return kind.kind === 'number' || kind.kind === 'boolean' ? kind.kind : 'string';
}
