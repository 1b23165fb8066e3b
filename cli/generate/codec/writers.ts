import { fieldsOf, type Field } from './kinds.ts';
import { leavesOf, sharedParts, type SharedPart } from './shared-parts.ts';
import { capitalized, header, ifAll, joined } from './source.ts';
import { jsonOf, msgpackPieces, ValueWriter } from './values.ts';

/** Everything else that the code imports comes from `msgpack.ts`. */
const fromEncodedEvent: ReadonlySet<string> = new Set(['quoted']);

/** The file with a function for each event, that writes it in both forms. Keys are the names of the events' types. */
export function generateWriters(schemas: Readonly<Record<string, object>>): string {
  const events = Object.entries(schemas).map(([type, schema]) => ({ type, fields: fieldsOf(schema, type) }));
  const parts = sharedParts(events.map(({ fields }) => fields));
  const types = events.map(({ type }) => type);
  const writer = new ValueWriter();
  const eventFunctions = events.map(({ type, fields }) => eventFunction(type, fields, parts, writer.fork()));
  const partFunctions = parts.map((part) => partFunction(part, writer.fork()));
  const imports = [...writer.imports].toSorted();
  const ofEvent = imports.filter((name) => fromEncodedEvent.has(name));
  const ofMsgpack = imports.filter((name) => !fromEncodedEvent.has(name));
  return [
    header('They write the bytes that `JSON.stringify` and `packValue` write of an event with its fields in the order of its schema.'),
    '/* oxlint-disable max-lines-per-function */\n',
    `import type { ${types.toSorted().join(', ')} } from '../wire/events.ts';\n`,
    `import { ${['bytesOf', ...ofEvent, 'type EncodedEvent'].join(', ')} } from './encoded-event.ts';\n`,
    `import { ${ofMsgpack.join(', ')} } from './msgpack.ts';\n\n`,
    [...eventFunctions, sharedHead(types), ...partFunctions, ...writer.functions.values()].join('\n'),
  ].join('');
}

function eventFunction(type: string, fields: readonly Field[], parts: readonly SharedPart[], writer: ValueWriter): string {
  writer.json.push({ constant: '{' });
  writer.mapHead(fields, 'event');
  const inParts = new Set(parts.flatMap((part) => part.fields.map(({ name }) => name)));
  for (const [index, field] of fields.entries()) {
    const part = parts.find((one) => one.fields[0]!.name === field.name);
    if (part !== undefined) {
      writer.json.push({ constant: ',' }, { expression: `${part.name}.json` });
      writer.msgpack.push({ expression: `${part.name}.msgpack` });
    } else if (!inParts.has(field.name)) writer.field(field, 'event', type, index === 0);
  }
  writer.json.push({ constant: '}' });
  return [
    `export function encode${type}(event: ${type}): EncodedEvent {\n`,
    ...parts.map(({ name }) => `  const ${name} = write${capitalized(name)}(event);\n`),
    ...forms(writer),
    '  return { json: bytesOf(json), msgpack: bytesOf(msgpack) };\n}\n',
  ].join('');
}

function forms(writer: ValueWriter): readonly string[] {
  const statements = writer.statements.map((one) => `${one}\n`);
  return [
    `  const json = ${jsonOf(writer.json)};\n`,
    ...statements,
    `${joined('  const msgpack =', msgpackPieces(writer.msgpack), '+', ';', '    ')}\n`,
  ];
}

function sharedHead(types: readonly string[]): string {
  return [
    '/** Both forms of some fields, as characters that stand for a byte each. */\n',
    'interface Part {\n  readonly json: string;\n  readonly msgpack: string;\n}\n\n',
    `type WrittenEvent = ${types.join(' | ')};\n\n`,
    '// Events that follow each other, like a trade and its price, often have parts in common. So the last one written of each part is stored,\n',
    '// with copies of the fields that it was made of: an event may change after it was encoded.\n',
  ].join('');
}

function partFunction({ name, fields }: SharedPart, writer: ValueWriter): string {
  const leaves = leavesOf(fields, 'event').map(({ path, type }) => ({ path, type, last: lastName(path) }));
  for (const [index, field] of fields.entries()) writer.field(field, 'event', 'WrittenEvent', index === 0);
  return [
    ...leaves.map(({ last, type }) => `let ${last}: ${type} | undefined;\n`),
    `let ${name}Part: Part = { json: '', msgpack: '' };\n\n`,
    `function write${capitalized(name)}(event: WrittenEvent): Part {\n`,
    `${ifAll([
      // Of an object that is null all values are undefined, as they are before the first event.
      ...(leaves.every(({ path }) => path.includes('?')) ? [`${name}Part.json !== ''`] : []),
      ...leaves.map(({ last, path }) => `${last} === ${path}`),
    ])}\n`,
    `    return ${name}Part;\n  }\n`,
    ...leaves.map(({ last, path }) => `  ${last} = ${path};\n`),
    ...forms(writer),
    `  ${name}Part = { json, msgpack };\n`,
    `  return ${name}Part;\n}\n`,
  ].join('');
}

/** `event.ts.received` as `lastTsReceived`. */
function lastName(path: string): string {
  return `last${path.replaceAll('?', '').split('.').slice(1).map(capitalized).join('')}`;
}
