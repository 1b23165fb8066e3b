import { fieldsOf, type Field, type Kind } from './kinds.ts';
import { capitalized, header } from './source.ts';

/** A value inside an event: its path, and the last name of the path. */
interface Leaf {
  readonly path: string;
  readonly name: string;
  readonly kind: Kind;
}

/**
 * Generates the source file: one function for each searched field. Each function finds the field's value in the JSON of an event by the field's name.
 * A string value cannot be mistaken for a name, because JSON escapes its quotes. Throws if a search could find another field of the same name. The
 * fields of the `written` events are always in the order of their schemas.
 */
export function generateSearches(
  schemas: Readonly<Record<string, object>>,
  written: Readonly<Record<string, object>>,
  searched: readonly string[],
): string {
  const events = Object.entries(schemas).map(([type, schema]) => ({ type, leaves: leavesOf(fieldsOf(schema, type), '') }));
  const functions = searched.map((path) => {
    const eventsWithField = events.filter(({ leaves }) => leaves.some((leaf) => leaf.path === path));
    const found = eventsWithField.map(({ type, leaves }) => onlyLeaf(leaves, path, type, type in written));
    return searchCode(
      path,
      found,
      eventsWithField.map(({ type }) => type),
    );
  });
  const imports = ['integerAfter', 'textAfter'].filter((name) => functions.some((code) => code.includes(`${name}(`)));
  return [
    header('These functions find a field by its name in JSON that `encodeEvent` wrote.'),
    `import { ${imports.join(', ')} } from './json-search.ts';\n\n`,
    functions.join('\n'),
  ].join('');
}

function leavesOf(fields: readonly Field[], path: string): readonly Leaf[] {
  return fields.flatMap(({ name, kind }) => {
    const own = path === '' ? name : `${path}.${name}`;
    return [{ path: own, name, kind }, ...leavesOf(innerFields(kind), own)];
  });
}

function innerFields(kind: Kind): readonly Field[] {
  if (kind.kind === 'object') return kind.fields;
  return kind.kind === 'nullable' || kind.kind === 'list' ? innerFields(kind.of) : [];
}

function onlyLeaf(leaves: readonly Leaf[], path: string, type: string, hasSchemaOrder: boolean): Leaf {
  const index = leaves.findIndex((leaf) => leaf.path === path);
  const found = leaves[index]!;
  const other = leaves.find(({ name }, at) => name === found.name && (hasSchemaOrder ? at < index : at !== index));
  if (other !== undefined) throw new Error(`${type}: a search for ${path} may find ${other.path}.`);
  return found;
}

function searchCode(path: string, found: readonly Leaf[], types: readonly string[]): string {
  const kinds = new Set(found.map(({ kind }) => (kind.kind === 'constant' && typeof kind.value === 'string' ? 'plain' : kind.kind)));
  const [kind] = kinds;
  if (kinds.size !== 1 || (kind !== 'plain' && kind !== 'number')) throw new Error(`${path}: only strings and numbers can be searched.`);
  const isText = kind === 'plain';
  const name = path
    .split('.')
    .map((part, index) => (index === 0 ? part : capitalized(part)))
    .join('');
  return [
    `const ${name}Mark = Buffer.from('"${path.slice(path.lastIndexOf('.') + 1)}":${isText ? '"' : ''}');\n\n`,
    `/** \`${path}\` in the JSON of ${types.join(', ')}. */\n`,
    `export function ${name}In(json: Uint8Array): ${isText ? 'string' : 'number'} | null {\n`,
    `  return ${isText ? 'textAfter' : 'integerAfter'}(json, ${name}Mark);\n}\n`,
  ].join('');
}
