import { decodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import type {
  AddressTableLookup,
  DecodedInstruction,
  MessageHeader,
  TransactionConfig,
  TransactionVersion,
} from '@sluice/shared/solana/transaction/transaction.ts';

/** A message whose keys are already in wire order, as in a recording. */
export interface CompiledMessage {
  readonly version: TransactionVersion;
  readonly header: MessageHeader;
  readonly accountKeys: readonly string[];
  readonly recentBlockhash: string;
  readonly instructions: readonly DecodedInstruction[];
  readonly addressTableLookups: readonly AddressTableLookup[];
  readonly config: TransactionConfig;
}

function compact(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 127) {
    bytes.push((rest & 127) | 128);
    rest >>= 7;
  }
  bytes.push(rest);
  return bytes;
}

function key(address: string): Uint8Array {
  return decodeBase58(address) ?? new Uint8Array(0);
}

function uint(value: bigint, bytes: number): Uint8Array {
  const buffer = Buffer.alloc(8);
  buffer.writeBigUInt64LE(value);
  return buffer.subarray(0, bytes);
}

function encodeLegacyOrV0(message: CompiledMessage): Uint8Array {
  const { header } = message;
  const parts: Uint8Array[] = message.version === 0 ? [Uint8Array.of(128)] : [];
  parts.push(
    Uint8Array.of(header.requiredSignatures, header.readonlySigned, header.readonlyUnsigned),
    Uint8Array.from(compact(message.accountKeys.length)),
    ...message.accountKeys.map(key),
    key(message.recentBlockhash),
    Uint8Array.from(compact(message.instructions.length)),
  );
  for (const { programIdIndex, accountIndexes, data } of message.instructions) {
    parts.push(Uint8Array.of(programIdIndex, ...compact(accountIndexes.length), ...accountIndexes, ...compact(data.length)), data);
  }
  if (message.version === 0) {
    parts.push(Uint8Array.from(compact(message.addressTableLookups.length)));
    for (const { table, writableIndexes, readonlyIndexes } of message.addressTableLookups) {
      parts.push(key(table), Uint8Array.of(...compact(writableIndexes.length), ...writableIndexes));
      parts.push(Uint8Array.of(...compact(readonlyIndexes.length), ...readonlyIndexes));
    }
  }
  return new Uint8Array(Buffer.concat(parts));
}

/** SIMD-0385: first everything of fixed size, then instruction headers, then their payloads. */
function encodeV1(message: CompiledMessage): Uint8Array {
  const { header, config } = message;
  const values: (readonly [bit: number, value: Uint8Array])[] = [];
  if (config.priorityFeeLamports !== null) values.push([0b11, uint(config.priorityFeeLamports, 8)]);
  if (config.computeUnitLimit !== null) values.push([0b100, uint(BigInt(config.computeUnitLimit), 4)]);
  if (config.loadedAccountsBytesLimit !== null) values.push([0b1000, uint(BigInt(config.loadedAccountsBytesLimit), 4)]);
  if (config.heapBytes !== null) values.push([0b10000, uint(BigInt(config.heapBytes), 4)]);
  const mask = values.reduce((bits, [bit]) => bits | bit, 0);
  return new Uint8Array(
    Buffer.concat([
      Uint8Array.of(129, header.requiredSignatures, header.readonlySigned, header.readonlyUnsigned),
      uint(BigInt(mask), 4),
      key(message.recentBlockhash),
      Uint8Array.of(message.instructions.length, message.accountKeys.length),
      ...message.accountKeys.map(key),
      ...values.map(([, value]) => value),
      ...message.instructions.map(({ programIdIndex, accountIndexes, data }) =>
        Uint8Array.of(programIdIndex, accountIndexes.length, data.length & 255, data.length >> 8),
      ),
      ...message.instructions.flatMap(({ accountIndexes, data }) => [Uint8Array.from(accountIndexes), data]),
    ]),
  );
}

/** The bytes that the message's signatures sign. */
export function encodeMessage(message: CompiledMessage): Uint8Array {
  return message.version === 1 ? encodeV1(message) : encodeLegacyOrV0(message);
}

/** The signed transaction. Signatures come before a legacy or v0 message and after a v1 message. */
export function joinSignatures(message: CompiledMessage, messageBytes: Uint8Array, signatures: readonly Uint8Array[]): Uint8Array {
  const parts =
    message.version === 1 ? [messageBytes, ...signatures] : [Uint8Array.from(compact(signatures.length)), ...signatures, messageBytes];
  return new Uint8Array(Buffer.concat(parts));
}
