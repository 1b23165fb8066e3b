import { exampleMint, exampleTexts, exampleWallet, type SchemaShape } from '../../values/values.ts';
import type { Json } from './json.ts';

const walletNames = /^(publicKey|accounts|creator|trader|feePayer|account)$/;
const textByName: Readonly<Record<string, string>> = { key: 'sluice_<id>_<secret>', epoch: '01jd2q6m7x4f' };

/**
 * An example of a schema: the first of its own examples, or else the smallest value that it allows, with realistic content. It depends on
 * the schema and on `name`, the name of its field, only.
 */
export function exampleOf(schema: SchemaShape, name = ''): Json {
  if (schema.examples !== undefined) return schema.examples[0] as Json;
  if (schema.default !== undefined) return schema.default as Json;
  if (schema.const !== undefined) return schema.const as Json;
  if (schema.enum !== undefined) return schema.enum[0] as Json;
  if (schema.anyOf !== undefined) return exampleOf(schema.anyOf[0]!, name);
  switch (schema.type) {
    case 'string':
      return textOf(schema, name);
    case 'integer':
      return within(schema, 1);
    case 'number':
      return within(schema, 0.5);
    case 'boolean':
      return false;
    case 'array':
      return schema.items === undefined
        ? []
        : Array.from({ length: Math.max(1, schema.minItems ?? 1) }, () => exampleOf(schema.items!, name));
    case 'object':
      return objectOf(schema);
    default:
      return null;
  }
}

function within({ minimum = -Infinity, maximum = Infinity }: SchemaShape, value: number): number {
  return Math.min(Math.max(minimum, value), maximum);
}

function objectOf({ properties = {}, required = [] }: SchemaShape): Json {
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, schema]) => (required.includes(name) ? [[name, exampleOf(schema, name)]] : [])),
  );
}

function textOf({ pattern, minLength = 0, maxLength = 1_000 }: SchemaShape, name: string): string {
  if (walletNames.test(name)) return exampleWallet;
  if (/^mints?$/.test(name)) return exampleMint;
  const known = exampleTexts.get(pattern ?? '');
  if (known !== undefined) return known;
  const text = textByName[name] ?? (name === '' ? 'text' : name);
  return text.padEnd(minLength, '.').slice(0, maxLength);
}
