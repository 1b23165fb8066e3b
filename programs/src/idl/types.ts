import { isRecord } from '@sluice/shared/solana/encoding/json-forms.ts';

/** A part of an IDL cannot be used. Thrown only inside `idl/`; the message says what is wrong. */
export class IdlFault extends Error {}

export const maxTypes = 2_000;
/** Deepest nesting of types, and parts of one type with all that it contains. */
const maxDepth = 32;
const maxNodes = 20_000;
/** Parts of all types of an IDL, each with all that it contains: the coder builds each of them. */
const maxAllNodes = 200_000;
const maxFields = 1_000;
/** Anchor writes the variant as one byte. */
const maxVariants = 256;
/** Size of the largest account. */
const maxArray = 10_485_760;
const nameForm = /^[A-Za-z_]\w{0,99}$/;
const typeNameForm = /^[\w:.]{1,200}$/;

/** A type in the form that Anchor's coder reads. */
export type IdlType =
  | string
  | { readonly option: IdlType }
  | { readonly vec: IdlType }
  | { readonly array: readonly [IdlType, number] }
  | { readonly defined: { readonly name: string } };

interface IdlField {
  readonly name: string;
  readonly type: IdlType;
}
type Fields = readonly IdlField[] | readonly IdlType[];

export type IdlBody =
  | { readonly kind: 'struct'; readonly fields: Fields }
  | { readonly kind: 'enum'; readonly variants: readonly { readonly name: string; readonly fields: Fields }[] }
  | { readonly kind: 'type'; readonly alias: IdlType };

/**
 * How many bytes a type takes. A list has any number of elements, which its length says; an array has `count`. The parts of an enum are its variants.
 */
export interface Shape {
  readonly kind: 'plain' | 'bytes' | 'option' | 'list' | 'array' | 'struct' | 'enum';
  /** Bytes; null if they depend on the content. */
  readonly size: number | null;
  /** Bytes of the value zero: no elements, no option, the first variant. */
  readonly zeroBytes: number;
  /** Values in JSON if the size is fixed. */
  readonly values: number;
  readonly parts: readonly Shape[];
  readonly count: number;
  /** Parts with all that they contain, and how deep. */
  readonly nodes: number;
  readonly depth: number;
}

/** Of a struct, also the names of its fields, so that an older record may lack the last ones. */
export interface Layout {
  readonly body: IdlBody;
  readonly shape: Shape;
}

const plainSizes: Readonly<Record<string, number>> = {
  bool: 1,
  u8: 1,
  i8: 1,
  u16: 2,
  i16: 2,
  u32: 4,
  i32: 4,
  f32: 4,
  u64: 8,
  i64: 8,
  f64: 8,
  u128: 16,
  i128: 16,
  u256: 32,
  i256: 32,
  pubkey: 32,
};

const plain = (size: number, values = 1): Shape => ({
  kind: 'plain',
  size,
  zeroBytes: size,
  values,
  parts: [],
  count: 0,
  nodes: 1,
  depth: 1,
});
const bytesShape: Shape = { ...plain(0), kind: 'bytes', size: null, zeroBytes: 4 };

function shape(kind: Shape['kind'], parts: readonly Shape[], zeroBytes: number, size: number | null = null, count = 0): Shape {
  const [nodes, values] = [1 + sum(parts, (part) => part.nodes), sum(parts, (part) => part.values)];
  const depth = 1 + Math.max(0, ...parts.map((part) => part.depth));
  if (nodes > maxNodes) throw new IdlFault(`a type has more than ${maxNodes} parts`);
  if (depth > maxDepth) throw tooDeep();
  return { kind, size, zeroBytes, values, parts, count, nodes, depth };
}

const tooDeep = (): IdlFault => new IdlFault(`types are nested more than ${maxDepth} deep`);

function sum(parts: readonly Shape[], of: (part: Shape) => number): number {
  return parts.reduce((total, part) => total + of(part), 0);
}

/** A name of a field, a variant or a record, in the form of the languages that Anchor knows. */
export function readName(value: unknown, what: string): string {
  if (typeof value !== 'string' || !nameForm.test(value)) throw new IdlFault(`${what} has no valid name`);
  if (value === '__proto__') throw new IdlFault(`${what} is named __proto__`);
  return value;
}

/** `value` as a list of at most `max` elements; a missing one is empty. */
export function readList(value: unknown, what: string, max: number): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new IdlFault(`${what} is not a list`);
  if (value.length > max) throw new IdlFault(`${what} has more than ${max} elements`);
  return value;
}

/** The types that an IDL defines. They are read when something uses them, so one that cannot be used refuses only what uses it. */
export class TypeBook {
  readonly #raw = new Map<string, unknown>();
  readonly #known = new Map<string, Layout>();
  readonly #open = new Set<string>();
  readonly #twice = new Set<string>();
  #nodes = 0;

  constructor(types: readonly unknown[]) {
    for (const type of types) {
      if (!isRecord(type) || typeof type['name'] !== 'string') throw new IdlFault('a type has no name');
      if (this.#raw.has(type['name'])) this.#twice.add(type['name']);
      this.#raw.set(type['name'], type);
    }
  }

  /** The types that were used, by their names. */
  get used(): ReadonlyMap<string, Layout> {
    return this.#known;
  }

  /** A defined type. Throws an `IdlFault` if it cannot be used. */
  defined(name: string, depth = 0): Layout {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const shown = JSON.stringify(name.slice(0, 100));
    if (!typeNameForm.test(name)) throw new IdlFault(`${shown} is no name of a type`);
    if (this.#open.has(name)) throw new IdlFault(`the type ${shown} contains itself`);
    if (this.#twice.has(name)) throw new IdlFault(`the type ${shown} is defined twice`);
    const raw = this.#raw.get(name);
    if (raw === undefined) throw new IdlFault(`the type ${shown} is not defined`);
    this.#open.add(name);
    try {
      const layout = this.layout(raw, depth);
      this.#known.set(name, layout);
      return layout;
    } finally {
      this.#open.delete(name);
    }
  }

  /** A struct, an enum or an alias as the IDL has it: `{type: {kind, …}}`. */
  layout(raw: unknown, depth = 0): Layout {
    if (!isRecord(raw) || !isRecord(raw['type'])) throw new IdlFault('a type has no definition');
    if (readList(raw['generics'], 'generics', maxFields).length > 0) throw new IdlFault('generic types are not supported');
    if (isRecord(raw['serialization'])) throw new IdlFault('a type has a serialization of its own');
    const layout = this.#body(raw['type'], depth);
    this.#nodes += layout.shape.nodes;
    if (this.#nodes > maxAllNodes) throw new IdlFault(`the types of the IDL have more than ${maxAllNodes} parts`);
    return layout;
  }

  #body(type: Readonly<Record<string, unknown>>, depth: number): Layout {
    switch (type['kind']) {
      case 'struct': {
        const { fields, shape: found } = this.#fields(type['fields'], depth);
        return { body: { kind: 'struct', fields }, shape: found };
      }
      case 'enum': {
        const variants = readList(type['variants'], 'variants', maxVariants).map((raw) => {
          const name = readName(isRecord(raw) ? raw['name'] : undefined, 'a variant');
          return { name, ...this.#fields((raw as Record<string, unknown>)['fields'], depth) };
        });
        if (variants.length === 0) throw new IdlFault('an enum has no variants');
        refuseTwice(variants);
        const parts = variants.map((variant) => variant.shape);
        const body = { kind: 'enum', variants: variants.map(({ name, fields }) => ({ name, fields })) } as const;
        return { body, shape: shape('enum', parts, 1 + parts[0]!.zeroBytes) };
      }
      // The old format calls it `alias`.
      case 'type':
      case 'alias': {
        const { type: alias, shape: found } = this.#type(type['alias'] ?? type['value'], depth + 1);
        return { body: { kind: 'type', alias }, shape: found };
      }
      default:
        throw new IdlFault('a type is no struct, enum or alias');
    }
  }

  #fields(raw: unknown, depth: number): { readonly fields: Fields; readonly shape: Shape } {
    const list = readList(raw, 'fields', maxFields);
    const named = isRecord(list[0]) && 'name' in list[0];
    const read = list.map((field) => this.#type(named && isRecord(field) ? field['type'] : field, depth + 1));
    const parts = read.map((field) => field.shape);
    const size = parts.every((part) => part.size !== null) ? sum(parts, (part) => part.size!) : null;
    const found = shape(
      'struct',
      parts,
      sum(parts, (part) => part.zeroBytes),
      size,
    );
    if (!named) return { fields: read.map(({ type }) => type), shape: found };
    const names = list.map((field) => readName(isRecord(field) ? field['name'] : undefined, 'a field'));
    const fields = read.map(({ type }, at) => ({ name: names[at]!, type }));
    refuseTwice(fields);
    return { fields, shape: found };
  }

  #type(raw: unknown, depth: number): { readonly type: IdlType; readonly shape: Shape } {
    if (depth > maxDepth) throw tooDeep();
    if (typeof raw === 'string') {
      const name = raw === 'publicKey' ? 'pubkey' : raw;
      if (name === 'string' || name === 'bytes') return { type: name, shape: bytesShape };
      const size = Object.hasOwn(plainSizes, name) ? plainSizes[name] : undefined;
      if (size === undefined) throw new IdlFault(`the type ${JSON.stringify(raw.slice(0, 100))} is not supported`);
      return { type: name, shape: plain(size) };
    }
    if (!isRecord(raw)) throw new IdlFault('a type is missing');
    const [[kind, of] = ['', null]] = Object.entries(raw);
    if (kind === 'defined') {
      const name = isRecord(of) ? of['name'] : of;
      if (isRecord(of) && readList(of['generics'], 'generics', maxFields).length > 0) throw new IdlFault('generic types are not supported');
      if (typeof name !== 'string') throw new IdlFault('a defined type has no name');
      const found = this.defined(name, depth).shape;
      if (depth + found.depth > maxDepth) throw tooDeep();
      return { type: { defined: { name } }, shape: found };
    }
    if (kind === 'option') {
      const inner = this.#type(of, depth + 1);
      return { type: { option: inner.type }, shape: shape('option', [inner.shape], 1) };
    }
    if (kind === 'vec') {
      const inner = this.#elements(of, depth);
      return { type: { vec: inner.type }, shape: shape('list', [inner.shape], 4) };
    }
    if (kind === 'array' && Array.isArray(of)) return this.#array(of, depth);
    throw new IdlFault(`the type ${JSON.stringify(kind.slice(0, 100))} is not supported`);
  }

  #array([raw, count]: readonly unknown[], depth: number): { readonly type: IdlType; readonly shape: Shape } {
    const isCount = typeof count === 'number' && Number.isInteger(count) && count >= 0 && count <= maxArray;
    if (!isCount) throw new IdlFault(`the length of an array is not a number from 0 to ${maxArray}`);
    const { type, shape: of } = this.#elements(raw, depth);
    const found = shape('array', [of], count * of.zeroBytes, null, count);
    return {
      type: { array: [type, count] },
      shape: of.size === null ? found : { ...found, kind: 'plain', size: count * of.size, values: count * of.values },
    };
  }

  /** Elements without a byte could be as many as a length says, at no cost for who writes it. */
  #elements(raw: unknown, depth: number): { readonly type: IdlType; readonly shape: Shape } {
    const found = this.#type(raw, depth + 1);
    if (found.shape.size === 0) throw new IdlFault('the elements of a list have no size');
    return found;
  }
}

function refuseTwice(named: readonly { readonly name: string }[]): void {
  if (new Set(named.map(({ name }) => name)).size < named.length) throw new IdlFault('a type has two parts of one name');
}
