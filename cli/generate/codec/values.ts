import { mapHead, packValue } from '@sluice/shared/codec/msgpack.ts';
import type { Field, Kind } from './kinds.ts';
import { capitalized, joined, literal, templateText, uncapitalized } from './source.ts';

/** A constant text, or an expression whose value is a string or a number. */
type Piece = { readonly constant: string } | { readonly expression: string };

/** Builds the code that writes values as JSON and MessagePack, and the functions that nullable values and lists need. */
export class ValueWriter {
  readonly json: Piece[] = [];
  readonly msgpack: Piece[] = [];
  /** Statements before both expressions. */
  readonly statements: string[] = [];

  /** The functions so far: name to code. */
  readonly functions: Map<string, string>;
  /** Names that the code imports. */
  readonly imports: Set<string>;

  constructor(functions = new Map<string, string>(), imports = new Set<string>()) {
    this.functions = functions;
    this.imports = imports;
  }

  /** A writer with separate output, and the same functions and imports. */
  withOwnOutput(): ValueWriter {
    return new ValueWriter(this.functions, this.imports);
  }

  /** Writes a whole object. `at` is the expression of the object. */
  object(fields: readonly Field[], at: string, type: string): void {
    this.json.push({ constant: '{' });
    this.mapHead(fields, at);
    this.fields(fields, at, type);
    this.json.push({ constant: '}' });
  }

  /** Writes the head of a MessagePack map. It contains the number of fields that are present. */
  mapHead(fields: readonly Field[], at: string): void {
    const required = fields.filter(({ optional }) => !optional).length;
    if (required === fields.length) return void this.msgpack.push({ constant: mapHead(required) });
    const present = fields.flatMap(({ name, optional }) => (optional ? [`(${at}.${name} === undefined ? 0 : 1)`] : []));
    const count = functionName(`${at}.fieldCount`);
    this.statements.push(joined(`  const ${count} =`, [`${required}`, ...present], '+', ';', '    '));
    this.msgpack.push({ expression: `mapHead(${count})` });
    this.imports.add('mapHead');
  }

  /** Writes the fields; the first one without a comma before it. */
  fields(fields: readonly Field[], at: string, type: string): void {
    for (const [index, field] of fields.entries()) this.field(field, at, type, index === 0);
  }

  field({ name, kind, optional }: Field, object: string, objectType: string, first: boolean): void {
    const [at, type] = [`${object}.${name}`, `${objectType}['${name}']`];
    const target = optional ? this.withOwnOutput() : this;
    target.json.push({ constant: `${first ? '' : ','}"${name}":` });
    target.msgpack.push({ constant: packValue(name) });
    if (optional && kind.kind === 'object') target.#writeCall(kind, at, `NonNullable<${type}>`);
    else target.value(kind, at, optional ? `NonNullable<${type}>` : type);
    if (!optional) return;
    this.json.push({ expression: `${at} === undefined ? '' : ${jsonOf(target.json)}` });
    this.msgpack.push({ expression: `(${at} === undefined ? '' : ${msgpackPieces(target.msgpack).join(' + ')})` });
  }

  value(kind: Kind, at: string, type: string): void {
    switch (kind.kind) {
      case 'constant':
        this.json.push({ constant: JSON.stringify(kind.value) });
        this.msgpack.push({ constant: packValue(kind.value) });
        return;
      case 'plain':
        this.json.push({ constant: '"' }, { expression: at }, { constant: '"' });
        this.msgpack.push(this.#call('packText', at));
        return;
      case 'text':
        this.json.push(this.#call('utf8', `JSON.stringify(${at})`));
        this.msgpack.push(this.#call('packValue', at));
        return;
      case 'number':
        this.json.push({ expression: at });
        this.msgpack.push(this.#call('packNumber', at));
        return;
      case 'boolean':
        this.json.push({ expression: at });
        this.msgpack.push(this.#call('packValue', at));
        return;
      case 'object':
        return this.object(kind.fields, at, type);
      case 'list':
        return this.#list(kind.of, at, type);
      case 'nullable':
        return this.#nullable(kind.of, at, type);
    }
  }

  #nullable(of: Kind, at: string, type: string): void {
    if (of.kind === 'number') return this.value(of, at, type);
    if (of.kind === 'plain') {
      this.json.push(this.#call('quoted', at));
      this.msgpack.push(this.#call('packText', at));
      return;
    }
    const name = this.#valueFunctions(of, at, `NonNullable<${type}>`);
    this.json.push({ expression: `${at} === null ? 'null' : ${name}Json(${at})` });
    this.msgpack.push({ expression: `(${at} === null ? nil : ${name}Msgpack(${at}))` });
    this.imports.add('nil');
  }

  #list(of: Kind, at: string, type: string): void {
    const name = this.#valueFunctions(of, `${at}Item`, `${type}[number]`);
    const plural = functionName(at);
    this.functions.set(
      `${plural}ListJson`,
      `function ${plural}ListJson(list: ${type}): string {\n  let json = '[';\n  for (const item of list) json += json.length === 1 ? ${name}Json(item) : \`,\${${name}Json(item)}\`;\n  return \`\${json}]\`;\n}\n`,
    );
    this.functions.set(
      `${plural}ListMsgpack`,
      `function ${plural}ListMsgpack(list: ${type}): string {\n  let msgpack = arrayHead(list.length);\n  for (const item of list) msgpack += ${name}Msgpack(item);\n  return msgpack;\n}\n`,
    );
    this.imports.add('arrayHead');
    this.json.push({ expression: `${plural}ListJson(${at})` });
    this.msgpack.push({ expression: `${plural}ListMsgpack(${at})` });
  }

  /** Creates the two functions that write one value. Returns the first part of their names. */
  #valueFunctions(kind: Kind, at: string, type: string): string {
    const name = functionName(at);
    const inner = this.withOwnOutput();
    inner.value(kind, name, type);
    const head = (form: string): string => `function ${name}${form}(${name}: ${type}): string {\n`;
    this.functions.set(`${name}Json`, `${head('Json')}  return ${jsonOf(inner.json)};\n}\n`);
    const statements = inner.statements.map((one) => `${one}\n`).join('');
    this.functions.set(`${name}Msgpack`, `${head('Msgpack')}${statements}${returned(msgpackPieces(inner.msgpack))}}\n`);
    return name;
  }

  /** Writes a call of the value's two functions. */
  #writeCall(kind: Kind, at: string, type: string): void {
    const name = this.#valueFunctions(kind, at, type);
    this.json.push({ expression: `${name}Json(${at})` });
    this.msgpack.push({ expression: `${name}Msgpack(${at})` });
  }

  #call(name: string, argument: string): { readonly expression: string } {
    this.imports.add(name);
    return { expression: `${name}(${argument})` };
  }
}

/** `event.fees.lp` as `feesLp`. */
function functionName(at: string): string {
  const [first = '', ...others] = at.split('.').filter((part) => part !== 'event');
  return uncapitalized([first, ...others.map(capitalized)].join(''));
}

/** A template literal, or a string literal if all pieces are constants. */
export function jsonOf(pieces: readonly Piece[]): string {
  const text = merged(pieces);
  const [only] = text;
  if (only === undefined) return "''";
  if (text.length === 1 && 'constant' in only) return literal(only.constant);
  return `\`${text.map((piece) => ('constant' in piece ? templateText(piece.constant) : `\${${piece.expression}}`)).join('')}\``;
}

/** The operands of the concatenation. */
export function msgpackPieces(pieces: readonly Piece[]): readonly string[] {
  return merged(pieces).map((piece) => ('constant' in piece ? literal(piece.constant) : piece.expression));
}

function returned(operands: readonly string[]): string {
  const line = `  return ${operands.join(' + ')};\n`;
  return line.length <= 141 ? line : `${joined('  return (', operands, '+', '', '    ')}\n  );\n`;
}

function merged(pieces: readonly Piece[]): readonly Piece[] {
  const found: Piece[] = [];
  for (const piece of pieces) {
    const last = found.at(-1);
    if (last !== undefined && 'constant' in last && 'constant' in piece)
      found[found.length - 1] = { constant: last.constant + piece.constant };
    else found.push(piece);
  }
  return found;
}
