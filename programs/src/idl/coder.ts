import * as module from '@coral-xyz/anchor';
import { PublicKey } from '@solana/web3.js';
import type { Idl, IdlRecord, RecordKind } from './idl.ts';
import { fieldsIn, RecordFault } from './measure.ts';
import type { IdlBody } from './types.ts';

/** Node.js finds only some names of this CommonJS package; a compiled program has all of them. */
// oxlint-disable-next-line import/namespace
const { BN, BorshCoder, LangErrorCode, LangErrorMessage } = 'default' in module ? (module.default as typeof module) : module;

/** Zeros that are added for the fields that an older record lacks. */
const maxPadding = 1_048_576;

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [name: string]: JsonValue };

/** `unknown`: the IDL has no record that begins like this. `refused`: it has, and the rest of the bytes does not fit. */
export type DecodedRecord =
  | { readonly kind: 'decoded'; readonly name: string; readonly data: JsonValue; readonly accounts: readonly string[] }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'refused'; readonly name: string; readonly reason: string };

interface Entry {
  readonly record: IdlRecord;
  /** The name of its type for Anchor's coder. */
  readonly type: string;
}

/**
 * Decodes the records of one program with Anchor's coder. Integers beyond 32 bits become decimal strings, addresses base58, `bytes` base64, an option its value
 * or null, and an enum `{Variant: {fields}}`. Names are those of the IDL.
 */
export class ProgramCoder {
  readonly idl: Idl;
  readonly #types: InstanceType<typeof BorshCoder>['types'];
  /** By the first bytes; one map for each length of them. */
  readonly #entries: Readonly<Record<RecordKind, ReadonlyMap<number, ReadonlyMap<string, Entry>>>>;

  constructor(idl: Idl) {
    this.idl = idl;
    const types: { name: string; type: IdlBody }[] = [...idl.types].map(([name, { body }]) => ({ name, type: body }));
    const entriesOf = (kind: RecordKind): ReadonlyMap<number, ReadonlyMap<string, Entry>> => {
      const byLength = new Map<number, Map<string, Entry>>();
      for (const record of idl[kind]) {
        const isDefined = idl.types.get(record.name)?.body === record.layout.body;
        // No type of an IDL has such a name.
        const type = isDefined ? record.name : `${kind} ${record.name}`;
        if (!isDefined) types.push({ name: type, type: record.layout.body });
        const { length } = record.discriminator;
        const entries = byLength.get(length) ?? new Map<string, Entry>();
        entries.set(keyOf(record.discriminator, length), { record, type });
        byLength.set(length, entries);
      }
      return byLength;
    };
    this.#entries = { events: entriesOf('events'), instructions: entriesOf('instructions'), accounts: entriesOf('accounts') };
    const metadata = { name: idl.name, version: '', spec: '' };
    this.#types = new BorshCoder({ address: idl.programId, metadata, instructions: [], types } as unknown as module.Idl).types;
  }

  /** Decodes an event, an instruction or an account from its first byte. Never throws for what the bytes contain. */
  decode(kind: RecordKind, bytes: Uint8Array): DecodedRecord {
    const entry = this.#entryOf(kind, bytes);
    if (entry === null) return { kind: 'unknown' };
    const { name, accounts, discriminator, layout } = entry.record;
    try {
      const body = bytes.subarray(discriminator.length);
      const known = fieldsIn(layout.shape, body);
      const decoded = this.#types.decode<unknown>(entry.type, padded(body, layout.shape.parts.slice(known)));
      const data = toJson(decoded);
      return { kind: 'decoded', name, data: layout.body.kind === 'struct' ? firstFields(data, known) : data, accounts };
    } catch (error) {
      // Anchor's coder throws plain errors: a bool that is 2, an option that is 3.
      const reason = error instanceof RecordFault || error instanceof Error ? error.message : String(error);
      return { kind: 'refused', name, reason: reason.slice(0, 200) };
    }
  }

  /** Which record the bytes begin like; null if none. */
  nameOf(kind: RecordKind, bytes: Uint8Array): string | null {
    return this.#entryOf(kind, bytes)?.record.name ?? null;
  }

  /** An error of the program by its number: one of its IDL, or of Anchor itself. */
  errorOf(code: number): { readonly name: string; readonly message: string; readonly from: 'idl' | 'anchor' } | null {
    const own = this.idl.errors.get(code);
    return own === undefined ? anchorError(code) : { ...own, from: 'idl' };
  }

  #entryOf(kind: RecordKind, bytes: Uint8Array): Entry | null {
    for (const [length, entries] of this.#entries[kind]) {
      const entry = entries.get(keyOf(bytes, length));
      if (entry !== undefined) return entry;
    }
    return null;
  }
}

/** An error that Anchor itself gives, in any program that is built with it. */
export function anchorError(code: number): { readonly name: string; readonly message: string; readonly from: 'anchor' } | null {
  const name = Object.entries(LangErrorCode).find(([, number]) => number === code)?.[0];
  const message = (LangErrorMessage as ReadonlyMap<number, string>).get(code);
  return name === undefined ? null : { name, message: message ?? '', from: 'anchor' };
}

function keyOf(bytes: Uint8Array, length: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(length, bytes.length)).toString('latin1');
}

function padded(body: Uint8Array, missing: readonly { readonly zeroBytes: number }[]): Buffer {
  const zeros = missing.reduce((sum, { zeroBytes }) => sum + zeroBytes, 0);
  if (zeros > maxPadding) throw new RecordFault(`it lacks ${zeros} bytes`);
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length);
  return zeros === 0 ? bytes : Buffer.concat([bytes, Buffer.alloc(zeros)]);
}

/** What Anchor's coder returns, as plain JSON. */
function toJson(value: unknown): JsonValue {
  if (value === undefined) throw new RecordFault('a value is missing');
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (BN.isBN(value)) return (value as { toString(radix: number): string }).toString(10);
  if (value instanceof PublicKey) return value.toBase58();
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (Array.isArray(value)) return value.map(toJson);
  if (typeof value !== 'object') throw new RecordFault(`a value is a ${typeof value}`);
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, toJson(field)]));
}

/** Without the fields that the record lacks: zeros stood in for them. */
function firstFields(data: JsonValue, count: number): JsonValue {
  return typeof data === 'object' && data !== null ? Object.fromEntries(Object.entries(data).slice(0, count)) : data;
}
