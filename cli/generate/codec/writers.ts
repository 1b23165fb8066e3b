import { fieldsOf, type Field } from './kinds.ts';
import { leavesOf, sharedParts, type SharedPart } from './shared-parts.ts';
import { capitalized, header, ifAll, joined } from './source.ts';
import { jsonOf, msgpackPieces, ValueWriter } from './values.ts';

/** Imported from `encoded-event.ts`. All other imports come from `msgpack.ts`. */
const fromEncodedEvent: ReadonlySet<string> = new Set(['quoted']);

/** The source file with one function for each event, which writes it as JSON and MessagePack. Keys are the names of the types. */
export function generateWriters(schemas: Readonly<Record<string, object>>): string {
  const events = Object.entries(schemas).map(([type, schema]) => ({ type, fields: fieldsOf(schema, type) }));
  const parts = sharedParts(events.map(({ fields }) => fields));
  const types = events.map(({ type }) => type);
  const writer = new ValueWriter();
  const eventFunctions = events.map(({ type, fields }) => eventFunction(type, fields, parts, writer.withOwnOutput()));
  const partFunctions = parts.map((part) => partFunction(part, writer.withOwnOutput()));
  const imports = [...writer.imports].toSorted();
  const ofEvent = imports.filter((name) => fromEncodedEvent.has(name));
  const ofMsgpack = imports.filter((name) => !fromEncodedEvent.has(name));
  return [
    header(
      'These functions write the same bytes as `JSON.stringify` and `packValue`, for an event whose fields are in the order of its schema.',
    ),
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
    '/** Consecutive fields, encoded as JSON and as MessagePack. Each character of a string is one byte (latin1). */\n',
    'interface Part {\n  readonly json: string;\n  readonly msgpack: string;\n}\n\n',
    `type WrittenEvent = ${types.join(' | ')};\n\n`,
    '// Consecutive events, like a trade and its price, often have equal parts. So each part stores its last output and the\n',
    '// field values that produced it. The values are copied, because an event may change after it was encoded.\n',
  ].join('');
}

function partFunction({ name, fields }: SharedPart, writer: ValueWriter): string {
  const leaves = leavesOf(fields, 'event').map((leaf) => ({ ...leaf, last: lastName(leaf.path) }));
  for (const [index, field] of fields.entries()) writer.field(field, 'event', 'WrittenEvent', index === 0);
  return [
    ...leaves.map(({ last, type }) => `let ${last}: ${type} | undefined;\n`),
    `let ${name}Part: Part = { json: '', msgpack: '' };\n\n`,
    `function write${capitalized(name)}(event: WrittenEvent): Part {\n`,
    `${ifAll([
      // Absent values and those of a null object are undefined, like the values before the first event.
      ...(leaves.every(({ mayBeAbsent }) => mayBeAbsent) ? [`${name}Part.json !== ''`] : []),
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
