import { fieldsOf, type Field, type Kind } from './kinds.ts';
import { braced, capitalized, header } from './source.ts';

/** Which fields a reader takes out of an event. */
export interface FieldReader {
  /** Of the interface; the function is `read` and this. */
  readonly name: string;
  /** Name of the event's type. */
  readonly event: string;
  readonly purpose: string;
  /** `ts.received` is the field `received` of the object `ts`. */
  readonly fields: readonly string[];
}

interface Draft {
  readonly lines: string[];
  readonly members: { readonly name: string; readonly type: string }[];
  readonly missing: Set<string>;
}

/** The file with a function for each reader, that reads its fields and skips the others. */
export function generateReaders(schemas: Readonly<Record<string, object>>, readers: readonly FieldReader[]): string {
  const types = [...new Set(readers.map(({ event }) => event))].toSorted();
  return [
    header('They read the MessagePack that the generated writers write. Any other bytes give null.'),
    `import type { ${types.join(', ')} } from '../wire/events.ts';\n`,
    "import { MsgpackFields } from './msgpack-fields.ts';\n\n",
    '// One for all: it reads one event at a time.\nconst fields = new MsgpackFields();\n\n',
    readers.map((reader) => readerCode(reader, fieldsOf(schemas[reader.event] ?? {}, reader.event))).join('\n'),
  ].join('');
}

function readerCode({ name, event, purpose, fields: names }: FieldReader, fields: readonly Field[]): string {
  const draft: Draft = { lines: [], members: [], missing: new Set(names) };
  readObject(draft, fields, '', event);
  if (draft.missing.size > 0) throw new Error(`${name}: ${event} has no field ${[...draft.missing].join(', ')}.`);
  return [
    `/** ${purpose} */\n`,
    `export interface ${name} {\n${draft.members.map((member) => `  readonly ${member.name}: ${member.type};\n`).join('')}}\n\n`,
    `export function read${name}(msgpack: Uint8Array): ${name} | null {\n  fields.begin(msgpack);\n`,
    ...draft.lines.map((line) => `${line}\n`),
    '  if (fields.failed) return null;\n',
    `${braced(
      '  return ',
      draft.members.map((member) => member.name),
      ';',
      '  ',
    )}\n}\n`,
  ].join('');
}

/** Reads an event up to the last field that is requested. An object inside the event is read to its end: the next field follows it. */
function readObject(draft: Draft, fields: readonly Field[], path: string, type: string, condition: string | null = null): void {
  for (const field of fields) {
    if (path === '' && draft.missing.size === 0) return;
    readField(draft, field, path, `${type}['${field.name}']`, condition);
  }
}

/** `condition`: name of the variable that says whether the object around the field is there; null where it always is. */
function readField(draft: Draft, { name, kind, optional }: Field, path: string, type: string, condition: string | null): void {
  const own = path === '' ? name : `${path}.${name}`;
  const line = (text: string): void => void draft.lines.push(`  ${condition === null ? '' : `if (${condition}) `}${text}`);
  if (draft.missing.delete(own)) {
    const member = own
      .split('.')
      .map((part, index) => (index === 0 ? part : capitalized(part)))
      .join('');
    const read = `fields.${methodOf(kind, optional, type)}('${name}')${castOf(kind, type)}`;
    draft.members.push({ name: member, type: `${optional ? 'boolean' : type}${condition === null ? '' : ' | null'}` });
    draft.lines.push(`  const ${member} = ${condition === null ? read : `${condition} ? ${read} : null`};`);
  } else if ([...draft.missing].some((one) => one.startsWith(`${own}.`))) {
    if (kind.kind === 'nullable' && kind.of.kind === 'object' && !optional && condition === null) {
      const present = `has${capitalized(name)}`;
      line(`const ${present} = fields.enterOrNull('${name}');`);
      readObject(draft, kind.of.fields, own, `NonNullable<${type}>`, present);
      return;
    }
    if (kind.kind !== 'object' || optional || condition !== null) {
      throw new Error(`${type}: a reader can enter an object only if it is always present, or null at the top level.`);
    }
    line(`fields.enter('${name}');`);
    readObject(draft, kind.fields, own, type);
  } else line(`fields.${optional ? 'skipOptional' : 'skip'}('${name}');`);
}

function methodOf(kind: Kind, optional: boolean, type: string): string {
  if (optional && kind.kind === 'constant' && kind.value === true) return 'flag';
  if (!optional && (kind.kind === 'plain' || kind.kind === 'number')) return kind.kind === 'plain' ? 'text' : 'number';
  if (!optional && kind.kind === 'nullable' && kind.of.kind === 'number') return 'nullableNumber';
  throw new Error(`${type}: MsgpackFields has no method for this kind of field. Add one in shared/src/codec/msgpack-fields.ts.`);
}

/** The values of an enum are not checked: the writer of the event has done that. */
function castOf(kind: Kind, type: string): string {
  return kind.kind === 'plain' && kind.isEnum ? ` as ${type}` : '';
}
