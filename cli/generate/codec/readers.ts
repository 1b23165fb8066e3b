import { fieldsOf, type Field, type Kind } from './kinds.ts';
import { braced, capitalized, header } from './source.ts';

/** A function that reads some fields of an event. */
export interface FieldReader {
  /** Name of the interface. The function is called `read<name>`. */
  readonly name: string;
  /** Name of the type of the event. */
  readonly event: string;
  readonly purpose: string;
  /** `ts.received` is the field `received` of the object `ts`. */
  readonly fields: readonly string[];
}

interface Draft {
  readonly lines: string[];
  readonly members: { readonly name: string; readonly type: string }[];
  readonly unread: Set<string>;
}

/** The source file with one function for each reader. */
export function generateReaders(schemas: Readonly<Record<string, object>>, readers: readonly FieldReader[]): string {
  const types = [...new Set(readers.map(({ event }) => event))].toSorted();
  return [
    header('These functions read MessagePack that the generated writers wrote. They return null for any other bytes.'),
    `import type { ${types.join(', ')} } from '../wire/events.ts';\n`,
    "import { MsgpackFields } from './msgpack-fields.ts';\n\n",
    '// Shared by all functions, because one event is read at a time.\nconst fields = new MsgpackFields();\n\n',
    readers.map((reader) => readerCode(reader, fieldsOf(schemas[reader.event] ?? {}, reader.event))).join('\n'),
  ].join('');
}

function readerCode({ name, event, purpose, fields: names }: FieldReader, fields: readonly Field[]): string {
  const draft: Draft = { lines: [], members: [], unread: new Set(names) };
  readObject(draft, fields, '', event);
  if (draft.unread.size > 0) throw new Error(`${name}: ${event} has no field ${[...draft.unread].join(', ')}.`);
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

/** Reads an event up to the last requested field. An object inside the event is read to its end, because the next field follows it. */
function readObject(draft: Draft, fields: readonly Field[], path: string, type: string, condition: string | null = null): void {
  for (const field of fields) {
    if (path === '' && draft.unread.size === 0) return;
    readField(draft, field, path, `${type}['${field.name}']`, condition);
  }
}

/** `condition`: the variable that says whether the object around the field is present; null if it always is. */
function readField(draft: Draft, { name, kind, optional }: Field, path: string, type: string, condition: string | null): void {
  const own = path === '' ? name : `${path}.${name}`;
  const line = (text: string): void => void draft.lines.push(`  ${condition === null ? '' : `if (${condition}) `}${text}`);
  if (draft.unread.delete(own)) {
    const member = own
      .split('.')
      .map((part, index) => (index === 0 ? part : capitalized(part)))
      .join('');
    const read = `fields.${methodOf(kind, optional, type)}('${name}')${castOf(kind, type)}`;
    draft.members.push({ name: member, type: memberType(kind, optional, type, condition !== null) });
    draft.lines.push(`  const ${member} = ${condition === null ? read : `${condition} ? ${read} : null`};`);
  } else if ([...draft.unread].some((one) => one.startsWith(`${own}.`))) {
    if (kind.kind === 'nullable' && kind.of.kind === 'object' && !optional && condition === null) {
      const present = `has${capitalized(name)}`;
      line(`const ${present} = fields.enterOrNull('${name}');`);
      readObject(draft, kind.of.fields, own, `NonNullable<${type}>`, present);
      return;
    }
    if (kind.kind !== 'object' || optional || condition !== null) {
      throw new Error(
        `${type}: a reader can read fields of an object only if the object is required, or if it is a nullable top-level field.`,
      );
    }
    line(`fields.enter('${name}');`);
    readObject(draft, kind.fields, own, type);
  } else line(`fields.${optional ? 'skipOptional' : 'skip'}('${name}');`);
}

function methodOf(kind: Kind, optional: boolean, type: string): string {
  if (optional && kind.kind === 'constant' && kind.value === true) return 'flag';
  if (optional && kind.kind === 'plain' && !kind.isEnum) return 'optionalText';
  if (!optional && (kind.kind === 'plain' || kind.kind === 'number')) return kind.kind === 'plain' ? 'text' : 'number';
  if (!optional && kind.kind === 'nullable' && kind.of.kind === 'number') return 'nullableNumber';
  throw new Error(`${type}: MsgpackFields has no method for this kind of field. Add one in shared/src/codec/msgpack-fields.ts.`);
}

function memberType(kind: Kind, optional: boolean, type: string, inNullable: boolean): string {
  const own = !optional ? type : kind.kind === 'constant' ? 'boolean' : `NonNullable<${type}>`;
  return inNullable || (optional && kind.kind !== 'constant') ? `${own} | null` : own;
}

/** The values of an enum are not checked, because the writer of the event has checked them. */
function castOf(kind: Kind, type: string): string {
  return kind.kind === 'plain' && kind.isEnum ? ` as ${type}` : '';
}
