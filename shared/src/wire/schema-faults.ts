import { isRecord } from '../solana/encoding/json-forms.ts';
import type { SchemaShape } from './values/values.ts';

/** Path of a field (`filter.minSol`), to what is wrong. */
type Faults = ReadonlyMap<string, string>;

/** Maximum number of faults in one answer. The search stops there. */
export const maxFaults = 16;
/** Longest part of an unknown name that a message repeats. */
const maxNameChars = 64;

type Note = (path: string, what: string) => void;

/**
 * Finds what is wrong with a value: at most `maxFaults`, empty if nothing is found. If the schema has alternatives, the value is compared
 * with those of its own type, and the faults of the closest one are returned.
 */
export function faultsOf(schema: SchemaShape, value: unknown): Faults {
  const found = new Map<string, string>();
  walk(schema, value, '', found);
  return found;
}

function walk(schema: SchemaShape, value: unknown, path: string, found: Map<string, string>): void {
  if (found.size >= maxFaults) return;
  const note: Note = (at, what) => {
    if (found.size < maxFaults && !found.has(at)) found.set(at, what);
  };
  const here = path === '' ? '(message)' : path;
  if (schema.anyOf !== undefined) alternatives(schema.anyOf, value, path, found);
  else if (schema.const !== undefined) {
    if (value !== schema.const) note(here, `must be ${JSON.stringify(schema.const)}`);
  } else if (schema.enum !== undefined) {
    if (!schema.enum.includes(value)) note(here, `must be one of ${schema.enum.map((one) => JSON.stringify(one)).join(', ')}`);
  } else if (!isOfType(schema, value)) note(here, `must be ${typeName(schema)}`);
  else if (typeof value === 'string') text(schema, value, here, note);
  else if (typeof value === 'number') number(schema, value, here, note);
  else if (Array.isArray(value)) list(schema, value, path, found, note);
  else if (isRecord(value)) object(schema, value, path, found, note);
}

function alternatives(schemas: readonly SchemaShape[], value: unknown, path: string, found: Map<string, string>): void {
  const meant = schemas.filter((schema) => isOfType(schema, value));
  if (meant.length === 0) {
    const names = [...new Set(schemas.map(typeName))];
    found.set(path === '' ? '(message)' : path, `must be ${names.join(' or ')}`);
    return;
  }
  const alike = meant.filter(({ properties }) => properties === undefined || shares(properties, value));
  let closest: Map<string, string> | null = null;
  for (const schema of alike.length > 0 ? alike : meant) {
    const own = new Map<string, string>();
    walk(schema, value, path, own);
    if (own.size === 0) return;
    if (closest === null || own.size < closest.size) closest = own;
  }
  for (const [at, what] of closest!) if (found.size < maxFaults && !found.has(at)) found.set(at, what);
}

/** Whether an object has any of these fields. */
function shares(properties: Readonly<Record<string, SchemaShape>>, value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(properties).some((name) => Object.hasOwn(value, name));
}

function text(schema: SchemaShape, value: string, here: string, note: Note): void {
  if (value.length < (schema.minLength ?? 0)) note(here, `must have at least ${schema.minLength} characters`);
  else if (value.length > (schema.maxLength ?? Infinity)) note(here, `must have at most ${schema.maxLength} characters`);
  else if (schema.pattern !== undefined && !new RegExp(schema.pattern).test(value)) note(here, `must match ${schema.pattern}`);
}

function number(schema: SchemaShape, value: number, here: string, note: Note): void {
  const { minimum = -Infinity, exclusiveMinimum = -Infinity, maximum = Infinity, 'x-unit': unit } = schema;
  const bound = (limit: number): string => (unit === undefined ? String(limit) : `${limit} ${unit}`);
  if (value < minimum) note(here, `must be at least ${bound(minimum)}`);
  else if (value <= exclusiveMinimum) note(here, `must be above ${bound(exclusiveMinimum)}`);
  else if (value > maximum) note(here, `must be at most ${bound(maximum)}`);
}

function list(schema: SchemaShape, values: readonly unknown[], path: string, found: Map<string, string>, note: Note): void {
  const here = path === '' ? '(message)' : path;
  if (values.length < (schema.minItems ?? 0)) return note(here, `must have at least ${schema.minItems} elements`);
  if (values.length > (schema.maxItems ?? Infinity)) return note(here, `must have at most ${schema.maxItems} elements`);
  if (schema.items === undefined) return;
  for (let i = 0; i < values.length && found.size < maxFaults; i++) walk(schema.items, values[i], below(path, String(i)), found);
}

function object(schema: SchemaShape, value: Record<string, unknown>, path: string, found: Map<string, string>, note: Note): void {
  const { properties = {}, required = [] } = schema;
  const [ofOthers] = Object.values(schema.patternProperties ?? {});
  const names = Object.keys(value);
  if (names.length > (schema.maxProperties ?? Infinity)) {
    return note(path === '' ? '(message)' : path, `must have at most ${schema.maxProperties} entries`);
  }
  for (const name of required) if (!Object.hasOwn(value, name)) note(below(path, name), 'required');
  for (let i = 0; i < names.length && found.size < maxFaults; i++) {
    const name = names[i]!;
    if (Object.hasOwn(properties, name)) walk(properties[name]!, value[name], below(path, name), found);
    else if (ofOthers !== undefined) walk(ofOthers, value[name], below(path, name), found);
    else if (schema.additionalProperties === false) note(below(path, name), 'unknown field');
  }
}

function below(path: string, name: string): string {
  const shown = name.length > maxNameChars ? `${name.slice(0, maxNameChars)}…` : name;
  return path === '' ? shown : `${path}.${shown}`;
}

function isOfType(schema: SchemaShape, value: unknown): boolean {
  if (schema.anyOf !== undefined) return schema.anyOf.some((one) => isOfType(one, value));
  if (schema.const !== undefined) return typeof value === typeof schema.const;
  if (schema.enum !== undefined) return schema.enum.some((one) => typeof one === typeof value);
  switch (schema.type) {
    case 'object':
      return isRecord(value);
    case 'array':
      return Array.isArray(value);
    case 'null':
      return value === null;
    case 'integer':
      return Number.isInteger(value);
    case 'number':
      return Number.isFinite(value);
    case undefined:
      return true;
    default:
      return typeof value === schema.type;
  }
}

function typeName(schema: SchemaShape): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return `one of ${schema.enum.map((one) => JSON.stringify(one)).join(', ')}`;
  switch (schema.type) {
    case 'object':
      return 'an object';
    case 'array':
      return 'a list';
    case 'integer':
      return 'an integer';
    case 'null':
      return 'null';
    default:
      return `a ${schema.type ?? 'value'}`;
  }
}
