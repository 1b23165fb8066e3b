import { decodeBase58, encodeBase58 } from '../encoding/base58.ts';
import { BorshReader } from '../encoding/bytes.ts';
import { addressBytes } from '../addresses/pda.ts';
import { systemProgram } from '../well-known.ts';

/** Largest transaction of any version: 4096 bytes with v1 (SIMD-0385), 1232 before it. */
export const maxTransactionBytes = 4096;
const v1Prefix = 129;
const signatureBytes = 64;
/** Bounds of SIMD-0385, `Transaction Constraints`. */
const maxV1Accounts = 64;
const maxV1Instructions = 64;

export type TransactionVersion = 'legacy' | 0 | 1;

export interface MessageHeader {
  readonly requiredSignatures: number;
  readonly readonlySigned: number;
  readonly readonlyUnsigned: number;
}

export interface DecodedInstruction {
  readonly programIdIndex: number;
  readonly accountIndexes: readonly number[];
  readonly data: Uint8Array;
}

export interface AddressTableLookup {
  readonly table: string;
  readonly writableIndexes: readonly number[];
  readonly readonlyIndexes: readonly number[];
}

/** Compute budget of a v1 header; a field that the mask omits is null. All are null for other versions, which use instructions. */
export interface TransactionConfig {
  /** Whole lamports, not a price per unit. */
  readonly priorityFeeLamports: bigint | null;
  readonly computeUnitLimit: number | null;
  readonly loadedAccountsBytesLimit: number | null;
  readonly heapBytes: number | null;
}

export interface DecodedTransaction {
  readonly kind: 'decoded';
  readonly version: TransactionVersion;
  /** Base58. The first is the transaction's id. */
  readonly signatures: readonly string[];
  /** What the signatures sign. */
  readonly messageBytes: Uint8Array;
  readonly header: MessageHeader;
  /** Static keys. In the indexes of instructions, the keys of lookup tables follow them (writable, then read-only). */
  readonly accountKeys: readonly string[];
  readonly recentBlockhash: string;
  readonly instructions: readonly DecodedInstruction[];
  readonly addressTableLookups: readonly AddressTableLookup[];
  readonly config: TransactionConfig;
}

export interface MalformedTransaction {
  readonly kind: 'malformed';
  readonly reason: string;
}

const noConfig: TransactionConfig = { priorityFeeLamports: null, computeUnitLimit: null, loadedAccountsBytesLimit: null, heapBytes: null };

class WireReader extends BorshReader {
  /** Solana's compact-u16: up to three bytes of seven bits, in the shortest form. */
  compact(): number {
    let value = 0;
    for (let shift = 0; shift < 21; shift += 7) {
      const byte = this.u8();
      value |= (byte & 127) << shift;
      if (byte < 128) {
        if ((byte === 0 && shift > 0) || value > 65_535) this.failed = true;
        return value;
      }
    }
    this.failed = true;
    return 0;
  }

  part(length: number): Uint8Array {
    const from = this.take(length);
    return from < 0 ? new Uint8Array(0) : this.bytes.subarray(from, from + length);
  }

  base58(length: number): string {
    return encodeBase58(this.part(length));
  }

  repeat<T>(count: number, read: () => T): T[] {
    const items: T[] = [];
    for (let i = 0; i < count && !this.failed; i++) items.push(read());
    return items;
  }
}

function malformed(reason: string): MalformedTransaction {
  return { kind: 'malformed', reason };
}

function readHeader(cursor: WireReader): MessageHeader {
  return { requiredSignatures: cursor.u8(), readonlySigned: cursor.u8(), readonlyUnsigned: cursor.u8() };
}

/** Makes the checks that the runtime makes for every version. The cursor has read all. */
function checked(cursor: WireReader, parts: Omit<DecodedTransaction, 'kind'>): DecodedTransaction | MalformedTransaction {
  if (cursor.failed) return malformed('the bytes end too early');
  if (cursor.at !== cursor.bytes.length) return malformed('there are bytes after the end');
  const { header, accountKeys, signatures, instructions, addressTableLookups } = parts;
  if (header.readonlySigned >= header.requiredSignatures) return malformed('the fee payer is not writable');
  if (header.requiredSignatures + header.readonlyUnsigned > accountKeys.length)
    return malformed('the header counts more keys than the message has');
  if (signatures.length !== header.requiredSignatures) return malformed('the number of signatures differs from the header');
  const loaded = addressTableLookups.reduce((sum, lookup) => sum + lookup.writableIndexes.length + lookup.readonlyIndexes.length, 0);
  const keys = accountKeys.length + loaded;
  for (const { programIdIndex, accountIndexes } of instructions) {
    if (programIdIndex >= accountKeys.length) return malformed('a program index is outside the static keys');
    if (accountIndexes.some((index) => index >= keys)) return malformed('an account index is outside the keys');
  }
  return { kind: 'decoded', ...parts };
}

function decodeLegacyOrV0(wire: Uint8Array): DecodedTransaction | MalformedTransaction {
  const cursor = new WireReader(wire, 0);
  const signatureCount = cursor.compact();
  const signatures = cursor.repeat(signatureCount, () => cursor.base58(signatureBytes));
  const messageBytes = wire.subarray(cursor.at);
  let version: TransactionVersion = 'legacy';
  if ((wire[cursor.at] ?? 0) & 128) {
    if (cursor.u8() !== 128) return malformed('unknown message version');
    version = 0;
  }
  const header = readHeader(cursor);
  const accountKeys = cursor.repeat(cursor.compact(), () => cursor.base58(32));
  const recentBlockhash = cursor.base58(32);
  const instructions = cursor.repeat(cursor.compact(), () => ({
    programIdIndex: cursor.u8(),
    accountIndexes: [...cursor.part(cursor.compact())],
    data: cursor.part(cursor.compact()),
  }));
  const addressTableLookups =
    version === 'legacy'
      ? []
      : cursor.repeat(cursor.compact(), () => ({
          table: cursor.base58(32),
          writableIndexes: [...cursor.part(cursor.compact())],
          readonlyIndexes: [...cursor.part(cursor.compact())],
        }));
  const message = { header, accountKeys, recentBlockhash, instructions, addressTableLookups };
  return checked(cursor, { version, signatures, messageBytes, ...message, config: noConfig });
}

/** Config values in the order of their mask bits (SIMD-0385, `TransactionConfigMask`); null if the proposal forbids the mask. */
function readConfig(cursor: WireReader, mask: number): TransactionConfig | null {
  const feeBits = mask & 0b11;
  if (feeBits === 0b01 || feeBits === 0b10 || mask > 0b11111) return null;
  return {
    priorityFeeLamports: feeBits === 0 ? null : cursor.u64(),
    computeUnitLimit: mask & 0b100 ? cursor.u32() : null,
    loadedAccountsBytesLimit: mask & 0b1000 ? cursor.u32() : null,
    heapBytes: mask & 0b10000 ? cursor.u32() : null,
  };
}

function decodeV1(wire: Uint8Array): DecodedTransaction | MalformedTransaction {
  const cursor = new WireReader(wire, 1);
  const header = readHeader(cursor);
  const mask = cursor.u32();
  const recentBlockhash = cursor.base58(32);
  const instructionCount = cursor.u8();
  const keyCount = cursor.u8();
  if (keyCount > maxV1Accounts || instructionCount > maxV1Instructions) return malformed('more keys or instructions than v1 allows');
  const accountKeys = cursor.repeat(keyCount, () => cursor.base58(32));
  const config = readConfig(cursor, mask);
  if (config === null) return malformed('the config mask has bits that v1 does not define');
  const shapes = cursor.repeat(instructionCount, () => ({ programIdIndex: cursor.u8(), accounts: cursor.u8(), bytes: cursor.u16() }));
  const instructions = shapes.map((shape) => ({
    programIdIndex: shape.programIdIndex,
    accountIndexes: [...cursor.part(shape.accounts)],
    data: cursor.part(shape.bytes),
  }));
  const messageBytes = wire.subarray(0, cursor.at);
  const signatures = cursor.repeat(header.requiredSignatures, () => cursor.base58(signatureBytes));
  const message = { header, accountKeys, recentBlockhash, instructions, addressTableLookups: [] };
  return checked(cursor, { version: 1, signatures, messageBytes, ...message, config });
}

/** Decodes a signed transaction: legacy, v0, or v1 (in which the signatures follow the message). Never throws. */
export function decodeTransaction(wire: Uint8Array): DecodedTransaction | MalformedTransaction {
  if (wire.length > maxTransactionBytes) return malformed('longer than any transaction');
  return wire[0] === v1Prefix ? decodeV1(wire) : decodeLegacyOrV0(wire);
}

export interface AccountMeta {
  readonly address: string;
  readonly signer: boolean;
  readonly writable: boolean;
}

export interface Instruction {
  readonly programId: string;
  readonly accounts: readonly AccountMeta[];
  readonly data: Uint8Array;
}

export interface MessageParts {
  readonly version: 'legacy' | 0;
  readonly feePayer: string;
  /** Base58. */
  readonly recentBlockhash: string;
  readonly instructions: readonly Instruction[];
}

function compactBytes(value: number): number[] {
  if (value < 128) return [value];
  if (value < 16_384) return [(value & 127) | 128, value >> 7];
  return [(value & 127) | 128, ((value >> 7) & 127) | 128, value >> 14];
}

/** Keys in wire order: signers before the others, writable before read-only, the fee payer first. */
function orderKeys(parts: MessageParts): { keys: string[]; header: MessageHeader } {
  const flags = new Map<string, { signer: boolean; writable: boolean }>([[parts.feePayer, { signer: true, writable: true }]]);
  const note = (address: string, signer: boolean, writable: boolean): void => {
    const known = flags.get(address);
    if (known === undefined) flags.set(address, { signer, writable });
    else {
      known.signer ||= signer;
      known.writable ||= writable;
    }
  };
  for (const { accounts } of parts.instructions) for (const { address, signer, writable } of accounts) note(address, signer, writable);
  for (const { programId } of parts.instructions) note(programId, false, false);
  const entries = [...flags];
  const pick = (signer: boolean, writable: boolean): string[] =>
    entries.filter(([, flag]) => flag.signer === signer && flag.writable === writable).map(([address]) => address);
  const [writableSigners, readonlySigners, writable, readonly] = [
    pick(true, true),
    pick(true, false),
    pick(false, true),
    pick(false, false),
  ];
  return {
    keys: [...writableSigners, ...readonlySigners, ...writable, ...readonly],
    header: {
      requiredSignatures: writableSigners.length + readonlySigners.length,
      readonlySigned: readonlySigners.length,
      readonlyUnsigned: readonly.length,
    },
  };
}

/** Compiles a message without lookup tables. Throws TypeError if an address is invalid, RangeError on more than 256 keys. */
export function compileMessage(parts: MessageParts): Uint8Array {
  const { keys, header } = orderKeys(parts);
  if (keys.length > 256) throw new RangeError(`A message addresses at most 256 keys, not ${keys.length}.`);
  const indexOf = new Map(keys.map((key, index) => [key, index]));
  const chunks: Uint8Array[] = [];
  if (parts.version === 0) chunks.push(Uint8Array.of(128));
  chunks.push(Uint8Array.of(header.requiredSignatures, header.readonlySigned, header.readonlyUnsigned, ...compactBytes(keys.length)));
  for (const key of keys) chunks.push(addressBytes(key));
  chunks.push(addressBytes(parts.recentBlockhash), Uint8Array.from(compactBytes(parts.instructions.length)));
  for (const { programId, accounts, data } of parts.instructions) {
    const indexes = accounts.map(({ address }) => indexOf.get(address)!);
    chunks.push(Uint8Array.of(indexOf.get(programId)!, ...compactBytes(indexes.length), ...indexes, ...compactBytes(data.length)), data);
  }
  if (parts.version === 0) chunks.push(Uint8Array.of(0));
  return new Uint8Array(Buffer.concat(chunks));
}

/** A legacy or v0 transaction from its message and its 64-byte signatures in the order of the keys. */
export function assembleTransaction(message: Uint8Array, signatures: readonly Uint8Array[]): Uint8Array {
  const parts = [compactBytes(signatures.length), ...signatures, message];
  const wire = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    wire.set(part, at);
    at += part.length;
  }
  return wire;
}

/** The transaction with zeros in place of its signatures, for simulations that do not verify them. `transaction` is the decoded `wire`. */
export function withoutSignatures(wire: Uint8Array, { messageBytes, signatures, version }: DecodedTransaction): Uint8Array {
  const messageAt = messageBytes.byteOffset - wire.byteOffset;
  const count = signatures.length * signatureBytes;
  const at = version === 1 ? messageAt + messageBytes.length : messageAt - count;
  return wire.slice().fill(0, at, at + count);
}

const advanceNonceTag = 4;

/** Whether it uses a durable nonce instead of a blockhash. Then it can land until the nonce is advanced. */
export function advancesNonce({ instructions: [first], accountKeys }: DecodedTransaction): boolean {
  if (first === undefined || accountKeys[first.programIdIndex] !== systemProgram || first.data.length < 4) return false;
  return new DataView(first.data.buffer, first.data.byteOffset, 4).getUint32(0, true) === advanceNonceTag;
}

/** The 64 bytes of a base58 signature, or null. */
export function signatureFromText(text: string): Uint8Array | null {
  const bytes = decodeBase58(text);
  return bytes?.length === signatureBytes ? bytes : null;
}
