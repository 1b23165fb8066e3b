/** How the generated code writes a value. */
export type Kind =
  | { readonly kind: 'constant'; readonly value: string | number | boolean }
  /** A string of ASCII characters that JSON does not escape. */
  | { readonly kind: 'plain'; readonly isEnum: boolean }
  | { readonly kind: 'text' }
  | { readonly kind: 'number' }
  | { readonly kind: 'boolean' }
  | { readonly kind: 'object'; readonly fields: readonly Field[] }
  | { readonly kind: 'list'; readonly of: Kind }
  | { readonly kind: 'nullable'; readonly of: Kind };

export interface Field {
  readonly name: string;
  readonly kind: Kind;
  readonly optional: boolean;
}

/** The parts of a JSON schema that decide how a value is written. */
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

const plainText = /^[ !#-[\]-~]*$/;
const fieldName = /^[a-zA-Z]\w{0,23}$/;

/** The fields of an object's schema, in the order of the schema. Throws if the generated codec cannot write a field. */
export function fieldsOf(schema: object, path: string): readonly Field[] {
  const { properties, required = [] } = schema as Shape;
  if (properties === undefined) throw new Error(`${path}: the schema has no list of fields.`);
  const fields = Object.entries(properties).map(([name, shape]) => {
    if (!fieldName.test(name)) throw new Error(`${path}.${name}: the name of a field must have 1 to 24 letters and digits.`);
    return { name, kind: kindOf(shape, `${path}.${name}`), optional: !required.includes(name) };
  });
  if (fields[0] === undefined || fields[0].optional) throw new Error(`${path}: the first field must be required.`);
  return fields;
}

function kindOf(shape: Shape, path: string): Kind {
  const { type, const: constant, enum: values, anyOf, items } = shape;
  if (isScalar(constant)) return { kind: 'constant', value: constant };
  if (values !== undefined) return enumKind(values, path);
  if (anyOf !== undefined) return nullableKind(anyOf, path);
  switch (type) {
    case 'string':
      return isPlainPattern(shape.pattern) ? { kind: 'plain', isEnum: false } : { kind: 'text' };
    case 'integer':
    case 'number':
      return { kind: 'number' };
    case 'boolean':
      return { kind: 'boolean' };
    case 'object':
      return { kind: 'object', fields: fieldsOf(shape, path) };
    case 'array':
      if (items !== undefined) return { kind: 'list', of: kindOf(items, `${path}[]`) };
      break;
    default:
  }
  throw new Error(`${path}: the generator cannot encode this schema. Add a kind in cli/generate/codec/kinds.ts.`);
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === 'string' ? plainText.test(value) : typeof value === 'number' || typeof value === 'boolean';
}

function enumKind(values: readonly unknown[], path: string): Kind {
  if (!values.every((value) => typeof value === 'string')) throw new Error(`${path}: the values of an enum must be strings.`);
  return values.every((value) => plainText.test(value)) ? { kind: 'plain', isEnum: true } : { kind: 'text' };
}

function nullableKind(anyOf: readonly Shape[], path: string): Kind {
  const [first, second, ...others] = anyOf;
  if (first === undefined || second?.type !== 'null' || others.length > 0)
    throw new Error(`${path}: the only supported union is a value or null.`);
  const of = kindOf(first, path);
  if (of.kind === 'nullable' || of.kind === 'constant') throw new Error(`${path}: a ${of.kind} value cannot be nullable.`);
  return { kind: 'nullable', of };
}

/** Whether a pattern is one repeated class of characters, none of which JSON escapes. */
function isPlainPattern(pattern: string | undefined): boolean {
  const found = /^\^(\[(?!\^)(?:[^\]\\])+\])(?:[+*]|\{\d+(?:,\d+)?\})\$$/.exec(pattern ?? '');
  if (found === null) return false;
  const inClass = new RegExp(`^${found[1]!}$`);
  for (let code = 0; code < 0x1_0000; code++) {
    const character = String.fromCharCode(code);
    if (inClass.test(character) && !plainText.test(character)) return false;
  }
  return true;
}
