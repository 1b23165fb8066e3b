import {
  type SchemaShape,
  addressPattern,
  base64Pattern,
  epochPattern,
  eventIdPattern,
  exampleMint,
  exampleOrderId,
  exampleWallet,
  ipRangePattern,
  keyIdPattern,
  keyPrefixPattern,
  linkPattern,
  orderIdPattern,
  rawPattern,
  requestIdPattern,
  signaturePattern,
  ticketPattern,
  topicPattern,
  versionPattern,
} from '../../values/values.ts';
import type { Json } from './json.ts';

const walletNames = /^(publicKey|accounts|creator|trader|feePayer|account)$/;
const someSignature = '5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW';
const someEpoch = '01jd2q6m7x4f';
const textByName: Readonly<Record<string, string>> = { key: 'sluice_<id>_<secret>', epoch: someEpoch };
const textByPattern: Readonly<Record<string, string>> = {
  [rawPattern]: '1000000000',
  [signaturePattern]: someSignature,
  [base64Pattern]: 'AQAAAAAAAAA=',
  [eventIdPattern]: `${someSignature}:3.1`,
  [orderIdPattern]: exampleOrderId,
  [keyIdPattern]: 'k4WbPq81Zx',
  [keyPrefixPattern]: 'sluice_k4WbPq81Zx',
  [requestIdPattern]: '01JD2Q6M7N8P9RSTVWXYZ01234',
  [ticketPattern]: 'Zk3vQ0mYb7d2sWfXo9cT1uHnRj5aGiLpEe8Kq4yVtBw',
  [versionPattern]: '1.0.0',
  [epochPattern]: someEpoch,
  [topicPattern]: `trades:${exampleMint}`,
  [ipRangePattern]: '203.0.113.0/24',
  [linkPattern]: 'https://example.com/',
};

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
  const known = textByPattern[pattern ?? ''];
  if (known !== undefined) return known;
  if (walletNames.test(name)) return exampleWallet;
  if (pattern === addressPattern || /^mints?$/.test(name)) return exampleMint;
  const text = textByName[name] ?? (name === '' ? 'text' : name);
  return text.padEnd(minLength, '.').slice(0, maxLength);
}
