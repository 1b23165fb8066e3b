import { bytesOf, quoted, type EncodedEvent } from './encoded-event.ts';
import { arrayHead, mapHead, nil, packNumber, packText, packValue, utf8 } from './msgpack.ts';
import type { SchemaShape } from '../wire/values/values.ts';

interface Field {
  readonly name: string;
  readonly shape: SchemaShape;
  /** Expression of the value. */
  readonly at: string;
  readonly optional: boolean;
}

/** The text of a template literal, for each form. */
interface Code {
  readonly json: string;
  readonly msgpack: string;
}

const tools = { bytesOf, quoted, arrayHead, mapHead, nil, packNumber, packText, packValue, utf8, joined };

/**
 * Compiles a function for each schema. The function writes an event as JSON and MessagePack: the same bytes as `JSON.stringify` and `packValue`, if
 * the fields of the event are in the order of the schema. `parts`: the first and the last name of consecutive fields that all schemas have.
 * Consecutive events, like a trade and its price, often have equal parts. So each part stores its last output and the values that produced it.
 */
export function compileWriters<Schemas extends Readonly<Record<string, object>>>(
  schemas: Schemas,
  parts: readonly (readonly [first: string, last: string])[],
): { readonly [Type in keyof Schemas]: (event: object) => EncodedEvent } {
  const shapes = Object.entries<SchemaShape>(schemas);
  const partFields = parts.map(([first, last]) => {
    const fields = fieldsOf(shapes.at(-1)![1], 'event');
    const from = fields.findIndex(({ name }) => name === first);
    return fields.slice(from, fields.findIndex(({ name }) => name === last) + 1);
  });
  const source = [
    `const { ${Object.keys(tools).join(', ')} } = tools;`,
    ...partFields.map(partFunction),
    `return { ${shapes.map(([type, shape]) => `${type}: ${eventFunction(shape, partFields)}`).join(', ')} };`,
  ].join('\n');
  // The source is made of our own schemas only.
  // oxlint-disable-next-line typescript/no-implied-eval
  return new Function('tools', source)(tools) as { readonly [Type in keyof Schemas]: (event: object) => EncodedEvent };
}

function eventFunction(shape: SchemaShape, parts: readonly (readonly Field[])[]): string {
  const fields = fieldsOf(shape, 'event');
  const codes = fields.map((field, index) => {
    const part = parts.findIndex((names) => names.some(({ name }) => name === field.name));
    if (part === -1) return fieldCode(field, index === 0);
    const isFirst = parts[part]![0]!.name === field.name;
    return isFirst ? { json: `\${part${part}.json}`, msgpack: `\${part${part}.msgpack}` } : { json: '', msgpack: '' };
  });
  const { json, msgpack } = mapCode(fields, codes);
  const calls = parts.map((_, part) => `const part${part} = writePart${part}(event);`).join(' ');
  return `(event) => { ${calls} return { json: bytesOf(\`${json}\`), msgpack: bytesOf(\`${msgpack}\`) }; }`;
}

function partFunction(fields: readonly Field[], part: number): string {
  const values = fields.flatMap(({ shape, at }) => leavesOf(shape, at));
  const { json, msgpack } = concatenated(fields.map((field) => fieldCode(field, false)));
  return `
let written${part}, ${values.map((_, index) => `last${part}_${index}`).join(', ')};
function writePart${part}(event) {
  if (written${part} !== undefined && ${values.map((value, index) => `last${part}_${index} === ${value}`).join(' && ')}) return written${part};
  ${values.map((value, index) => `last${part}_${index} = ${value};`).join(' ')}
  return written${part} = { json: \`${json}\`, msgpack: \`${msgpack}\` };
}`;
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

function mapCode(fields: readonly Field[], codes: readonly Code[]): Code {
  const optional = fields.flatMap((field) => (field.optional ? [` + (${field.at} === undefined ? 0 : 1)`] : []));
  const required = fields.length - optional.length;
  const head = optional.length === 0 ? constant(mapHead(required)) : `\${mapHead(${required}${optional.join('')})}`;
  const { json, msgpack } = concatenated(codes);
  return { json: `{${json}}`, msgpack: head + msgpack };
}

function fieldCode({ name, shape, at, optional }: Field, first: boolean): Code {
  const value = valueCode(shape, at);
  const json = `${first ? '' : ','}"${name}":${value.json}`;
  const msgpack = constant(packValue(name)) + value.msgpack;
  return optional ? choice(`${at} === undefined`, { json: '', msgpack: '' }, { json, msgpack }) : { json, msgpack };
}

function valueCode(shape: SchemaShape, at: string): Code {
  const { type, anyOf, items } = shape;
  if (shape.const !== undefined) return { json: constant(JSON.stringify(shape.const)), msgpack: constant(packValue(shape.const)) };
  if (anyOf !== undefined) return nullableCode(anyOf, at);
  if (isPlain(shape)) return { json: `"\${${at}}"`, msgpack: `\${packText(${at})}` };
  if (type === 'string') return { json: `\${utf8(JSON.stringify(${at}))}`, msgpack: `\${packValue(${at})}` };
  if (type === 'number' || type === 'integer') return { json: `\${${at}}`, msgpack: `\${packNumber(${at})}` };
  if (type === 'object') {
    const fields = fieldsOf(shape, at);
    return mapCode(
      fields,
      fields.map((field, index) => fieldCode(field, index === 0)),
    );
  }
  if (type !== 'array' || items === undefined) throw new Error(`${at}: the codec cannot write this schema. Add a case here.`);
  const item = valueCode(items, 'item');
  return {
    json: `[\${joined(${at}, ',', (item) => \`${item.json}\`)}]`,
    msgpack: `\${arrayHead(${at}.length)}\${joined(${at}, '', (item) => \`${item.msgpack}\`)}`,
  };
}

function nullableCode([shape, nullShape, ...others]: readonly SchemaShape[], at: string): Code {
  if (shape === undefined || nullShape?.type !== 'null' || others.length > 0)
    throw new Error(`${at}: only a value or null can be written.`);
  const value = valueCode(shape, at);
  // Templates and \`packNumber\` write null too.
  if (shape.type === 'number' || shape.type === 'integer') return value;
  if (isPlain(shape)) return { json: `\${quoted(${at})}`, msgpack: value.msgpack };
  return choice(`${at} === null`, { json: 'null', msgpack: constant(nil) }, value);
}

function choice(condition: string, yes: Code, no: Code): Code {
  const of = (form: keyof Code): string => `\${${condition} ? \`${yes[form]}\` : \`${no[form]}\`}`;
  return { json: of('json'), msgpack: of('msgpack') };
}

function concatenated(codes: readonly Code[]): Code {
  return { json: codes.map(({ json }) => json).join(''), msgpack: codes.map(({ msgpack }) => msgpack).join('') };
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
