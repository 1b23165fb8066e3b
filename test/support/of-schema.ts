import * as fc from 'fast-check';

/** The parts of a JSON schema that events use. */
interface Shape {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Shape[];
  readonly items?: Shape;
  readonly pattern?: string;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly required?: readonly string[];
}

const number = fc.oneof(
  // No negative zero, which JSON cannot write.
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
  fc.integer({ min: 0, max: 2 ** 32 }),
  fc.constantFrom(0, 127, 128, 255, 256, 65_535, 65_536, 2 ** 32 - 1, 2 ** 32, 1e-12),
);
const integer = fc.oneof(
  fc.maxSafeInteger(),
  fc.nat(),
  fc.constantFrom(-1, -32, -33, -128, -129, -32_768, -32_769, -(2 ** 31), -(2 ** 31) - 1),
);
/** Number of strings for one pattern. A few are enough, because creating them is slow. */
const stringsPerPattern = 20;

/** Values that a schema allows, with the fields of objects in the schema's order. */
export function ofSchema(schema: object): fc.Arbitrary<unknown> {
  const { type, const: constant, enum: values, anyOf, items, pattern, properties = {}, required = [] } = schema as Shape;
  if (constant !== undefined) return fc.constant(constant);
  if (values !== undefined) return fc.constantFrom(...values);
  if (anyOf !== undefined) return fc.oneof(...anyOf.map(ofSchema));
  switch (type) {
    case 'string':
      if (pattern === undefined) return fc.string({ unit: 'grapheme' });
      return fc.constantFrom(...fc.sample(fc.stringMatching(new RegExp(pattern)), { numRuns: stringsPerPattern, seed: 1 }));
    case 'integer':
      return integer;
    case 'number':
      return number;
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return fc.array(ofSchema(items!), { maxLength: 20 });
    case 'object': {
      const fields = Object.entries(properties).map(([name, field]) => [name, ofSchema(field)] as const);
      return fc.record(Object.fromEntries(fields), { requiredKeys: [...required], noNullPrototype: true });
    }
    default:
      throw new Error(`No values for a schema of the type ${String(type)}.`);
  }
}
