import { capitalized, partsOf, type NamedShape } from './public-types.ts';
import type { SchemaShape } from '@sluice/shared/wire/values/values.ts';

/** Clearer names for objects that several top-level types (roots) contain, and whose field name alone is too vague. */
const clearNames: Readonly<Record<string, string>> = { Error: 'OrderFault', Ts: 'EventTimes' };

interface Nested {
  readonly shape: SchemaShape;
  readonly root: string;
  /** The names of the fields that lead to it from its root. */
  readonly path: readonly string[];
}

/**
 * The name of each object in `roots`. A Python type has no inline objects, so each of them needs a name: objects that are equal have the same
 * one. An object of several roots is named by its field, for example `Reserves`; one of a single root by the whole path, for example
 * `PortfolioTotals`.
 */
export function nestedNames(roots: readonly NamedShape[]): ReadonlyMap<SchemaShape, string> {
  const nested = roots.flatMap(([root, shape]) => findObjects(shape, root, []));
  const named = new Map(roots.map(([root, shape]) => [keyOf(shape), root]));
  const taken = new Set(roots.map(([root]) => root));
  for (const { shape, root, path } of nested) {
    const key = keyOf(shape);
    if (named.has(key)) continue;
    const isShared = nested.some((other) => other.root !== root && keyOf(other.shape) === key);
    const short = clearNames[path.at(-1)!] ?? path.at(-1)!;
    const name = isShared && !taken.has(short) ? short : `${root}${path.join('')}`;
    if (taken.has(name)) throw new Error(`two types of the Python client have the name ${name}`);
    taken.add(name);
    named.set(key, name);
  }
  return new Map(
    [...roots.map(([, shape]) => shape), ...nested.map(({ shape }) => shape)].map((shape) => [shape, named.get(keyOf(shape))!]),
  );
}

function findObjects(shape: SchemaShape, root: string, path: readonly string[]): readonly Nested[] {
  const own: readonly Nested[] = path.length > 0 && shape.properties !== undefined ? [{ shape, root, path }] : [];
  const fields = Object.entries(shape.properties ?? {}).flatMap(([field, value]) =>
    findObjects(value, root, /^\d/.test(field) ? elementOf(path) : [...path, nameOf(field, value)]),
  );
  return [...own, ...fields, ...partsOf(shape).flatMap((inner) => findObjects(inner, root, pathOf(inner, shape, path)))];
}

/** One of several objects in the same place is named after its first field, too: `WhenMetric`. */
function pathOf(inner: SchemaShape, { anyOf = [] }: SchemaShape, path: readonly string[]): readonly string[] {
  const [first] = Object.keys(inner.properties ?? {});
  const isOneOfSeveral = anyOf.filter(({ properties }) => properties !== undefined).length > 1;
  return isOneOfSeveral && first !== undefined ? [...path.slice(0, -1), `${path.at(-1)}${capitalized(first)}`] : path;
}

/** A field of a list is named in the plural, and its type in the singular. */
function nameOf(field: string, shape: SchemaShape): string {
  const isList = [shape, ...(shape.anyOf ?? [])].some(({ items }) => items !== undefined);
  return capitalized(isList ? singular(field) : field);
}

/** The fields of a table, such as `5m` and `1h` of `windows`, are named after the table. */
const elementOf = (path: readonly string[]): readonly string[] => [...path.slice(0, -1), singular(path.at(-1)!)];

const singular = (name: string): string => name.replace(/s$/, '');

/** Equal for equal objects. Their own descriptions may differ; those of their fields must not. */
function keyOf({ properties, required }: SchemaShape): string {
  return JSON.stringify([properties, required]);
}
