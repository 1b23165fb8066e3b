import { beginCompact, compactMap, compactText, compactValue, compactWord, keyOf } from './compact.ts';
import { quoted } from './encoded-event.ts';
import { arrayHead, mapHead, nil, packNumber, packText, packValue, utf8 } from './msgpack.ts';
import type { SchemaShape } from '../wire/values/values.ts';

interface Field {
  readonly name: string;
  readonly shape: SchemaShape;
  /** Expression of the value. */
  readonly at: string;
  readonly optional: boolean;
}

const forms = ['json', 'msgpack', 'compact'] as const;
type Form = (typeof forms)[number];

/** Writes an event as a text in which each character is one byte. */
export type Writers = Readonly<Record<Form, (event: object) => string>>;

const tools = {
  arrayHead,
  beginCompact,
  compactMap,
  compactText,
  compactValue,
  compactWord,
  joined,
  mapHead,
  nil,
  packNumber,
  packText,
  packValue,
  quoted,
  utf8,
};

/**
 * Compiles functions that write an event of a schema. JSON and MessagePack are the same bytes as those of `JSON.stringify` and `packValue`, if the
 * fields of the event are in the order of the schema. The compact form is that of `compact.ts`, after `begin`.
 */
export function compileWriters(schema: SchemaShape): Writers {
  const [json, msgpack, compact] = forms.map((form) => compiled(`(event) => \`${mapCode(form, fieldsOf(schema, 'event'))}\``));
  return { json: json!, msgpack: msgpack!, compact: compact! };
}

/**
 * Compiles a function that writes, in the compact form, the fields of `event` that differ from those of `base`. Null if a field that `base` has is
 * missing in `event`: a reader would take it from `base`. The fields `without` are left out.
 */
export function compileDifference(schema: SchemaShape, baseSchema: SchemaShape, without: readonly string[]) {
  const fields = fieldsOf(schema, 'event').filter(({ name }) => !without.includes(name));
  const inBase = new Set(Object.keys(baseSchema.properties ?? {}));
  const steps = fields.map(({ name, shape, at, optional }) => {
    const equal = leavesOf(shape, at).map((leaf) => `${leaf} === base${leaf.slice('event'.length)}`);
    const missing = inBase.has(name) ? `if (base.${name} !== undefined) return null;` : '';
    const { key, before } = keyOf(name);
    const write = `keys += \`${constant(key)}\`; values += \`${constant(before)}${valueCode('compact', shape, at)}\`;`;
    const present = optional ? `if (${at} === undefined) { ${missing} } else { ${write} }` : write;
    return inBase.has(name) ? `if (!(${equal.join(' && ')})) { ${present} }` : present;
  });
  const source = `(event, base) => { let keys = '', values = ''; ${steps.join('\n')} return compactMap(keys) + values; }`;
  return compiled(source) as (event: object, base: object) => string | null;
}

/** Compiles the reverse: a function that makes an event from its base and from the fields that differ. It is given the fields `without`. */
export function compileMerge(schema: SchemaShape, baseSchema: SchemaShape, without: readonly string[]) {
  const fields = fieldsOf(schema, 'fields').filter(({ name }) => !without.includes(name));
  const valueOf = ({ name, at }: Field): string =>
    Object.hasOwn(baseSchema.properties ?? {}, name) ? `(${at} === undefined ? base.${name} : ${at})` : at;
  const required = fields.filter(({ optional }) => !optional).map((field) => `${field.name}: ${valueOf(field)}`);
  const optional = fields
    .filter((field) => field.optional)
    .map((field) => `const ${field.name} = ${valueOf(field)}; if (${field.name} !== undefined) event.${field.name} = ${field.name};`);
  const source = `(${without.join(', ')}, base, fields) => { const event = { ${[...without, ...required].join(', ')} }; ${optional.join(' ')} return event; }`;
  return compiled(source) as unknown as (...values: readonly unknown[]) => object;
}

function compiled(source: string): (event: object) => string {
  // The source is made of our own schemas only.
  // oxlint-disable-next-line typescript/no-implied-eval
  return new Function('tools', `const { ${Object.keys(tools).join(', ')} } = tools; return ${source};`)(tools) as never;
}

/** The values inside a value that are compared one by one. Those inside null are undefined. */
function leavesOf(shape: SchemaShape, at: string): readonly string[] {
  const [value, nullType] = shape.anyOf ?? [shape];
  if (value!.type !== 'object') return [at];
  return fieldsOf(value!, nullType === undefined ? at : `${at}?`).flatMap((field) => leavesOf(field.shape, field.at));
}

function fieldsOf({ properties = {}, required = [] }: SchemaShape, at: string): readonly Field[] {
  return Object.entries(properties).map(([name, shape]) => ({ name, shape, at: `${at}.${name}`, optional: !required.includes(name) }));
}

function mapCode(form: Form, fields: readonly Field[]): string {
  const isAbsent = ({ at }: Field): string => `${at} === undefined`;
  const values = fields.map((field, index) => {
    const code = fieldCode(form, field, index === 0);
    return field.optional ? choice(isAbsent(field), '', code) : code;
  });
  if (form === 'json') return `{${values.join('')}}`;
  const optional = fields.filter((field) => field.optional);
  if (form === 'msgpack') {
    const count = optional.map((field) => ` + (${isAbsent(field)} ? 0 : 1)`).join('');
    const required = fields.length - optional.length;
    return (count === '' ? constant(mapHead(required)) : `\${mapHead(${required}${count})}`) + values.join('');
  }
  const keyCodes = fields.map((field) => {
    const key = constant(keyOf(field.name).key);
    return field.optional ? choice(isAbsent(field), '', key) : key;
  });
  const constantKeys = fields.map(({ name }) => keyOf(name).key).join('');
  const head = optional.length === 0 ? constant(compactMap(constantKeys)) : `\${compactMap(\`${keyCodes.join('')}\`)}`;
  return head + values.join('');
}

function fieldCode(form: Form, { name, shape, at }: Field, first: boolean): string {
  const value = valueCode(form, shape, at);
  if (form === 'json') return `${first ? '' : ','}"${name}":${value}`;
  return constant(form === 'msgpack' ? packValue(name) : keyOf(name).before) + value;
}

function valueCode(form: Form, shape: SchemaShape, at: string): string {
  const { type, anyOf, items } = shape;
  const of = (codes: Readonly<Record<Form, string>>): string => codes[form];
  if (shape.const !== undefined) return constant(constantOf(form, shape.const));
  if (anyOf !== undefined) return nullableCode(form, anyOf, at);
  if (isPlain(shape)) {
    const compact = shape.enum === undefined ? `\${compactText(${at})}` : `\${compactWord(${at})}`;
    return of({ json: `"\${${at}}"`, msgpack: `\${packText(${at})}`, compact });
  }
  if (type === 'string')
    return of({ json: `\${utf8(JSON.stringify(${at}))}`, msgpack: `\${packValue(${at})}`, compact: `\${compactValue(${at})}` });
  if (type === 'number' || type === 'integer')
    return of({ json: `\${${at}}`, msgpack: `\${packNumber(${at})}`, compact: `\${packNumber(${at})}` });
  if (type === 'object') return mapCode(form, fieldsOf(shape, at));
  if (type !== 'array' || items === undefined) throw new Error(`${at}: the codec cannot write this schema. Add a case here.`);
  const item = valueCode(form, items, 'item');
  const list = `\${joined(${at}, '${form === 'json' ? ',' : ''}', (item) => \`${item}\`)}`;
  return form === 'json' ? `[${list}]` : `\${arrayHead(${at}.length)}${list}`;
}

function constantOf(form: Form, value: unknown): string {
  if (form === 'json') return JSON.stringify(value);
  return form === 'compact' && typeof value === 'string' ? compactWord(value) : packValue(value);
}

function nullableCode(form: Form, [shape, nullShape, ...others]: readonly SchemaShape[], at: string): string {
  if (shape === undefined || nullShape?.type !== 'null' || others.length > 0)
    throw new Error(`${at}: only a value or null can be written.`);
  const value = valueCode(form, shape, at);
  // Templates, `packNumber` and `packText` write null too.
  if (shape.type === 'number' || shape.type === 'integer') return value;
  if (isPlain(shape) && shape.enum === undefined) return form === 'json' ? `\${quoted(${at})}` : value;
  return choice(`${at} === null`, form === 'json' ? 'null' : constant(nil), value);
}

function choice(condition: string, yes: string, no: string): string {
  return `\${${condition} ? \`${yes}\` : \`${no}\`}`;
}

/** A text as a part of a template literal. */
function constant(text: string): string {
  return JSON.stringify(text)
    .slice(1, -1)
    .replaceAll(/`|\$\{/g, '\\$&');
}

function joined<Item>(list: readonly Item[], separator: string, write: (item: Item) => string): string {
  let text = '';
  for (const item of list) text += text === '' ? write(item) : separator + write(item);
  return text;
}

const plainText = /^[ !#-[\]-~]*$/;

/** Whether all values are ASCII texts that JSON does not escape: an enum of such texts, or a pattern that is one repeated class of such characters. */
function isPlain({ type, enum: values, pattern = '' }: SchemaShape): boolean {
  if (values !== undefined) return values.every((value) => typeof value === 'string' && plainText.test(value));
  const found = /^\^(\[(?!\^)(?:[^\]\\])+\])(?:[+*]|\{\d+(?:,\d+)?\})\$$/.exec(pattern);
  if (type !== 'string' || found === null) return false;
  const inClass = new RegExp(`^${found[1]!}$`);
  for (let code = 0; code < 0x1_0000; code++) {
    const character = String.fromCharCode(code);
    if (inClass.test(character) && !plainText.test(character)) return false;
  }
  return true;
}
