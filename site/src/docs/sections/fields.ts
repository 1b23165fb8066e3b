import type { SchemaShape } from '@sluice/shared/wire/values/values.ts';
import { code, prose, table } from '../text/markdown.ts';

/** A schema of the OpenAPI or AsyncAPI document. */
export interface Schema extends SchemaShape {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
}

/** Levels of nested objects that one table shows. */
const maxDepth = 4;
/** Longer patterns do not help a reader; the documents have them. */
const maxPatternChars = 80;

/** The fields of an object schema as a table. Fields of nested objects are listed by their paths. */
export function fieldTable(schema: Schema): string {
  return table(['field', 'type', 'meaning'], rowsOf(schema, '', 0));
}

function rowsOf({ properties = {}, required = [] }: Schema, path: string, depth: number): string[][] {
  return Object.entries(properties).flatMap(([name, property]) => {
    const at = path === '' ? name : `${path}.${name}`;
    const row = [nameOf(at, required.includes(name)), typeOf(property), descriptionOf(property)];
    const within = depth < maxDepth ? objectIn(property) : null;
    return [row, ...(within === null ? [] : rowsOf(within.schema, at + within.suffix, depth + 1))];
  });
}

export const nameOf = (name: string, isRequired: boolean): string => `${code(name)}${isRequired ? '' : ' *optional*'}`;

/** The object schema of a field: the field itself, the items of a list, or a nullable object. */
function objectIn(schema: Schema): { readonly schema: Schema; readonly suffix: string } | null {
  if (schema.properties !== undefined) return { schema, suffix: '' };
  if (schema.items !== undefined) {
    const within = objectIn(schema.items);
    return within === null ? null : { schema: within.schema, suffix: `[]${within.suffix}` };
  }
  const [first, ...others] = (schema.anyOf ?? []).filter(({ type }) => type !== 'null');
  return first === undefined || others.length > 0 ? null : objectIn(first);
}

/** The type of a value; a link if it is described elsewhere. */
export function typeOf(schema: Schema): string {
  const { $ref, const: constant, enum: values, properties, anyOf, items, maxItems, additionalProperties } = schema;
  if ($ref !== undefined) return schemaLink($ref);
  if (constant !== undefined) return code(JSON.stringify(constant));
  if (values !== undefined) return values.map((value) => code(String(value))).join(' ');
  // An object with alternatives has the same fields in each of them.
  if (properties !== undefined) return 'object';
  if (anyOf !== undefined) return anyOf.map(typeOf).join(' or ');
  if (items !== undefined) return `list of ${typeOf(items)}${maxItems === undefined ? '' : ` (at most ${maxItems})`}`;
  if (typeof additionalProperties === 'object') return `map to ${typeOf(additionalProperties as Schema)}`;
  return `${schema.type ?? 'anything'} ${boundsOf(schema)}`.trim();
}

/** The bounds of a text or a number in words. A pattern that a reader can read shows them. */
function boundsOf({ pattern, minimum, exclusiveMinimum, maximum, maxLength }: Schema): string {
  if (pattern !== undefined && pattern.length <= maxPatternChars) return code(pattern);
  if (maxLength !== undefined) return `at most ${maxLength} characters`;
  if (exclusiveMinimum !== undefined) return `above ${exclusiveMinimum}`;
  const most = maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum;
  if (minimum !== undefined && most !== undefined) return `${minimum} to ${most}`;
  if (minimum !== undefined) return minimum === -Number.MAX_SAFE_INTEGER ? '' : `from ${minimum}`;
  return most === undefined ? '' : `up to ${most}`;
}

export function schemaLink(reference: string): string {
  const name = reference.split('/').at(-1)!;
  return `[${name}](/docs/schemas#schema-${name})`;
}

function descriptionOf(schema: Schema): string {
  const texts = [schema, ...(schema.anyOf ?? [])].flatMap(({ description }) => description ?? []);
  const preset = schema.default === undefined ? [] : [`Default: \`${JSON.stringify(schema.default)}\`.`];
  return prose([...new Set([...texts, ...preset])].join(' '));
}
