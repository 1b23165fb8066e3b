import { sealBytes, type RecordPurpose, type RecordSeal } from '@sluice/gateway/auth/record-seal.ts';
import type { OrderAnswer, OrderCall } from '../order-call.ts';

/** One call of one gateway, handed to the gateway that holds the trading role. */
export interface HandedCall {
  readonly id: string;
  /** The mailbox that the answer goes to. */
  readonly replyTo: string;
  /** `id` of the endpoint. */
  readonly endpoint: string;
  readonly call: OrderCall;
}

export interface HandedAnswer {
  /** Id of the call. */
  readonly id: string;
  /** The fence of the gateway that answers, in its term of the trading role. */
  readonly fence: number;
  /** Null: the gateway does not hold the role any more, and does not run the call. */
  readonly answer: OrderAnswer | null;
}

interface Records {
  readonly 'handed call': HandedCall;
  readonly 'handed answer': HandedAnswer;
}

type HandedPurpose = RecordPurpose & keyof Records;

const endBytes = 6;
const headBytes = endBytes + sealBytes;
/** Larger records are refused before the seal is computed. A request has 64 KiB at most, an answer less. */
const maxRecordBytes = 1024 * 1024;

/**
 * A record in Redis: its expiry (u48, Unix milliseconds), the seal over mailbox, expiry and content, and the content. The content is encrypted
 * JSON, because Redis may be read by others, and an order is private to its key.
 */
export function sealRecord<P extends HandedPurpose>(
  seal: RecordSeal,
  purpose: P,
  mailbox: string,
  endsAtMs: number,
  content: Records[P],
): Buffer {
  const encrypted = seal.encrypt(Buffer.from(JSON.stringify(content, asJson)));
  const head = Buffer.alloc(headBytes);
  head.writeUIntBE(endsAtMs, 0, endBytes);
  head.set(seal.of(purpose, mailbox, endsAtMs, encrypted), endBytes);
  return Buffer.concat([head, encrypted]);
}

/** Null if no gateway of the fleet sealed this record for this mailbox, or if it has expired. */
export function openRecord<P extends HandedPurpose>(seal: RecordSeal, purpose: P, mailbox: string, record: Buffer): Records[P] | null {
  const isSized = record.length > headBytes && record.length <= maxRecordBytes;
  const endsAtMs = isSized ? record.readUIntBE(0, endBytes) : 0;
  const encrypted = record.subarray(isSized ? headBytes : record.length);
  const sealed = isSized ? record.subarray(endBytes, headBytes) : new Uint8Array(0);
  if (!seal.check(sealed, purpose, mailbox, endsAtMs, encrypted)) return null;
  // The seal is valid, so a gateway wrote this content.
  return JSON.parse(seal.decrypt(encrypted).toString('utf8'), fromJson) as Records[P];
}

/** Only the body of a file answer consists of bytes. JSON has no type for bytes, so they are an object with this field. */
const bytesField = '$bytes';

function asJson(this: Record<string, unknown>, name: string, value: unknown): unknown {
  const original = this[name];
  return original instanceof Uint8Array ? { [bytesField]: Buffer.from(original).toString('base64') } : value;
}

function fromJson(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const text = (value as Readonly<Record<string, unknown>>)[bytesField];
  return typeof text === 'string' ? new Uint8Array(Buffer.from(text, 'base64')) : value;
}
