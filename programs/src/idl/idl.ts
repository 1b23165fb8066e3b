import { createHash } from 'node:crypto';
import { isAddress } from '@sluice/shared/solana/encoding/base58.ts';
import { isRecord } from '@sluice/shared/solana/encoding/json-forms.ts';
import { cleanText } from '@sluice/shared/metadata/clean-text.ts';
import { IdlFault, maxTypes, readList, readName, TypeBook, type Layout } from './types.ts';

/** Larger than every published IDL; the largest have 0.6 MB. */
export const maxIdlBytes = 4_194_304;
const maxItems = 2_000;
const maxErrors = 5_000;
/** Accounts of one instruction, and how deep groups of them are nested. */
const maxAccounts = 256;
const maxGroups = 4;
const maxTextChars = 300;
const maxDiscriminator = 32;

export const recordKinds = ['events', 'instructions', 'accounts'] as const;
export type RecordKind = (typeof recordKinds)[number];

/** One kind of event, instruction or account that can be decoded. */
export interface IdlRecord {
  readonly name: string;
  /** The first bytes. */
  readonly discriminator: Uint8Array;
  readonly layout: Layout;
  /** Of an instruction: the names of its accounts in order; those of a group have its name before them, `group.account`. */
  readonly accounts: readonly string[];
}

/** What cannot be decoded, and why. */
export interface RefusedRecord {
  readonly kind: RecordKind | 'errors';
  readonly name: string;
  readonly reason: string;
}

export interface Idl extends Readonly<Record<RecordKind, readonly IdlRecord[]>> {
  readonly programId: string;
  /** As the IDL calls the program. Several programs may have the same name. */
  readonly name: string;
  readonly format: 'old' | 'new';
  /** The types that the records use. */
  readonly types: ReadonlyMap<string, Layout>;
  readonly errors: ReadonlyMap<number, { readonly name: string; readonly message: string }>;
  readonly refused: readonly RefusedRecord[];
}

export type IdlOutcome = { readonly ok: true; readonly idl: Idl } | { readonly ok: false; readonly reason: string };

type Json = Readonly<Record<string, unknown>>;

/**
 * Reads an Anchor IDL, in the format of Anchor 0.30 and later or in the older one. A record that cannot be used is refused with its reason, and the others
 * are read. `programId`: the program that it must describe; null if the IDL itself names it.
 */
export function readIdl(text: string, programId: string | null): IdlOutcome {
  try {
    if (text.length > maxIdlBytes) throw new IdlFault(`it has more than ${maxIdlBytes} bytes`);
    return { ok: true, idl: new Reader(parse(text)).read(programId) };
  } catch (error) {
    if (error instanceof IdlFault) return { ok: false, reason: error.message };
    throw error;
  }
}

function parse(text: string): Json {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new IdlFault(`it is not JSON: ${cleanText(String(error), maxTextChars)}`, { cause: error });
  }
  if (!isRecord(json)) throw new IdlFault('it is not an object');
  return json;
}

class Reader {
  readonly #raw: Json;
  readonly #metadata: Json;
  readonly #isNew: boolean;
  readonly #types: TypeBook;
  readonly #refused: RefusedRecord[] = [];

  constructor(raw: Json) {
    this.#raw = raw;
    this.#metadata = isRecord(raw['metadata']) ? raw['metadata'] : {};
    this.#isNew = typeof this.#metadata['spec'] === 'string';
    if (raw['kind'] === 'rootNode') throw new IdlFault('it is a Codama IDL; only Anchor IDLs are supported');
    if (this.#metadata['origin'] === 'shank') throw new IdlFault('it is a Shank IDL; only Anchor IDLs are supported');
    if (!this.#isNew && typeof raw['version'] !== 'string')
      throw new IdlFault('it is no Anchor IDL: metadata.spec and version are missing');
    this.#types = new TypeBook(readList(raw['types'], 'types', maxTypes));
  }

  read(programId: string | null): Idl {
    const named = this.#isNew ? this.#raw['address'] : this.#metadata['address'];
    const address = typeof named === 'string' && isAddress(named) ? named : null;
    if (this.#isNew && address === null) throw new IdlFault('address is not the address of a program');
    if (programId !== null && address !== null && address !== programId) throw new IdlFault(`it describes the program ${address}`);
    const id = programId ?? address;
    if (id === null) throw new IdlFault('it does not name its program; give its address');
    const name = this.#isNew ? this.#metadata['name'] : this.#raw['name'];
    const [events, instructions, accounts] = recordKinds.map((kind) => this.#records(kind)) as [IdlRecord[], IdlRecord[], IdlRecord[]];
    return {
      programId: id,
      name: typeof name === 'string' ? cleanText(name, 100) : '',
      format: this.#isNew ? 'new' : 'old',
      events,
      instructions,
      accounts,
      types: this.#types.used,
      errors: this.#errors(),
      refused: this.#refused,
    };
  }

  #records(kind: RecordKind): IdlRecord[] {
    const records: IdlRecord[] = [];
    for (const raw of readList(this.#raw[kind], kind, maxItems)) {
      const json = isRecord(raw) ? raw : {};
      try {
        const record = this.#record(kind, json);
        if (records.some(({ name }) => name === record.name)) throw new IdlFault('another one has the same name');
        const hidden = records.find((other) => beginsAlike(other.discriminator, record.discriminator));
        if (hidden !== undefined) throw new IdlFault(`${hidden.name} has the same first bytes`);
        records.push(record);
      } catch (error) {
        this.#refuse(kind, json, error);
      }
    }
    return records;
  }

  #refuse(kind: RefusedRecord['kind'], json: Json, error: unknown): void {
    if (!(error instanceof IdlFault)) throw error;
    const name = typeof json['name'] === 'string' ? cleanText(json['name'], 100) : '';
    this.#refused.push({ kind, name, reason: error.message });
  }

  #record(kind: RecordKind, json: Json): IdlRecord {
    const name = readName(json['name'], 'it');
    const accounts = kind === 'instructions' ? accountNames(json['accounts'], '', 0) : [];
    if (accounts.length > maxAccounts) throw new IdlFault(`it has more than ${maxAccounts} accounts`);
    return {
      name,
      discriminator: this.#discriminator(kind, name, json['discriminator']),
      layout: this.#layout(kind, name, json),
      accounts,
    };
  }

  #layout(kind: RecordKind, name: string, json: Json): Layout {
    if (kind === 'instructions') return this.#types.layout({ type: { kind: 'struct', fields: json['args'] } });
    if (this.#isNew) return this.#types.defined(name);
    return this.#types.layout(kind === 'events' ? { type: { kind: 'struct', fields: json['fields'] } } : json);
  }

  #discriminator(kind: RecordKind, name: string, given: unknown): Uint8Array {
    if (!this.#isNew) return oldDiscriminator(kind, name);
    const bytes = readList(given, 'discriminator', maxDiscriminator);
    if (bytes.length === 0) throw new IdlFault('it has no discriminator');
    if (!bytes.every((byte) => typeof byte === 'number' && Number.isInteger(byte) && byte >= 0 && byte <= 255)) {
      throw new IdlFault('the discriminator has no valid bytes');
    }
    return Uint8Array.from(bytes as readonly number[]);
  }

  #errors(): Map<number, { name: string; message: string }> {
    const errors = new Map<number, { name: string; message: string }>();
    for (const raw of readList(this.#raw['errors'], 'errors', maxErrors)) {
      const json = isRecord(raw) ? raw : {};
      const { code, msg } = json;
      try {
        const name = readName(json['name'], 'it');
        if (typeof code !== 'number' || !Number.isInteger(code) || code < 0 || code > 0xffff_ffff)
          throw new IdlFault('its code is no number');
        if (errors.has(code)) throw new IdlFault(`another error has the code ${code}`);
        errors.set(code, { name, message: typeof msg === 'string' ? cleanText(msg, maxTextChars) : '' });
      } catch (error) {
        this.#refuse('errors', json, error);
      }
    }
    return errors;
  }
}

function accountNames(raw: unknown, before: string, depth: number): string[] {
  if (depth > maxGroups) throw new IdlFault(`groups of accounts are nested more than ${maxGroups} deep`);
  return readList(raw, 'accounts', maxAccounts).flatMap((account) => {
    const name = before + readName(isRecord(account) ? account['name'] : undefined, 'an account');
    return isRecord(account) && 'accounts' in account ? accountNames(account['accounts'], `${name}.`, depth + 1) : [name];
  });
}

/** The format before Anchor 0.30 does not contain them: the first eight bytes of a hash. */
function oldDiscriminator(kind: RecordKind, name: string): Uint8Array {
  const text = { events: `event:${name}`, accounts: `account:${name}`, instructions: `global:${snakeCase(name)}` }[kind];
  return createHash('sha256').update(text).digest().subarray(0, 8);
}

/** `swapV2` → `swap_v2`: the name of the function in Rust, as Anchor's client before 0.30 found it. */
function snakeCase(name: string): string {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .toLowerCase();
}

function beginsAlike(one: Uint8Array, other: Uint8Array): boolean {
  const length = Math.min(one.length, other.length);
  return Buffer.from(one.subarray(0, length)).equals(other.subarray(0, length));
}
