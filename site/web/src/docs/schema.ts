/** The part of JSON Schema that the documents use. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly default?: unknown;
}

/** An input of a form. */
export interface Field {
  readonly place: 'path' | 'query' | 'header' | 'body';
  readonly name: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
  /** Its text at first. */
  readonly text: string;
}

/** A document with schemas that references name. */
export interface SchemaDocument {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** The schema itself instead of a reference to it. */
export function resolved(schema: Schema, document: SchemaDocument): Schema {
  const name = schema.$ref?.split('/').at(-1);
  return name === undefined ? schema : (document.components.schemas[name] ?? {});
}

/** The fields of an object. Those with one possible value need no input: `fixedOf` has them. */
export function bodyFields({ properties = {}, required = [] }: Schema, example: Readonly<Record<string, unknown>>): readonly Field[] {
  return Object.entries(properties).flatMap(([name, schema]): Field[] =>
    schema.const === undefined ? [{ place: 'body', name, schema, isRequired: required.includes(name), text: textOf(example[name]) }] : [],
  );
}

/** The fields of an object that have one possible value. */
export function fixedOf(schema: Schema): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(schema.properties ?? {}).flatMap(([name, property]) => (property.const === undefined ? [] : [[name, property.const]])),
  );
}

/** A value as the text of an input. */
export function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value.join(', ');
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Types that a value may have. */
export function typesOf(schema: Schema): ReadonlySet<string> {
  const own = schema.enum?.every((one) => typeof one === 'string') === true ? ['string'] : schema.type === undefined ? [] : [schema.type];
  return new Set([...own, ...(schema.anyOf ?? []).flatMap((one) => [...typesOf(one)])]);
}

/** The values among which one chooses; null if they are not listed. */
export function choicesOf(schema: Schema): readonly string[] | null {
  if (schema.enum !== undefined) return schema.enum.map(String);
  return schema.type === 'boolean' ? ['true', 'false'] : null;
}

/** The value that a text of the form means: a number where one is allowed, JSON for objects, a list by commas. Throws if it is no JSON. */
export function valueOf(text: string, schema: Schema): unknown {
  const types = typesOf(schema);
  if ((types.has('number') || types.has('integer')) && /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text)) return Number(text);
  if (types.has('boolean') && (text === 'true' || text === 'false')) return text === 'true';
  if (types.has('array') && !text.startsWith('[')) return text.split(/[\s,]+/).filter(Boolean);
  if (types.has('array') || types.has('object')) return JSON.parse(text) as unknown;
  return text;
}

/** An object of the fields that are not empty. */
export function objectOf(fields: readonly Field[], texts: Readonly<Record<string, string>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    fields.flatMap(({ name, schema }) => {
      const text = (texts[name] ?? '').trim();
      return text === '' ? [] : [[name, valueOf(text, schema)]];
    }),
  );
}
