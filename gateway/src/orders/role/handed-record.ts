import { sealBytes, type RecordPurpose, type RecordSeal } from '../../auth/record-seal.ts';
import type { OrderAnswer, OrderCall } from '../api/order-call.ts';

/** One call of one gateway, handed to the gateway that holds the trading role. */
export interface HandedCall {
  readonly id: string;
  /** The box that the answer goes to. */
  readonly replyTo: string;
  /** `id` of the endpoint. */
  readonly endpoint: string;
  readonly call: OrderCall;
}

export interface HandedAnswer {
  /** Id of the call. */
  readonly id: string;
  /** Of the holding of the role that answers. */
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
 * A record in Redis: its expiry (u48, Unix milliseconds), the seal over box, expiry and content, and the content. The content is encrypted
 * JSON, because Redis may be read by others, and an order is private to its key.
 */
export function sealRecord<P extends HandedPurpose>(
  seal: RecordSeal,
  purpose: P,
  box: string,
  endsAtMs: number,
  content: Records[P],
): Buffer {
  const encrypted = seal.encrypt(Buffer.from(JSON.stringify(content, asJson)));
  const head = Buffer.alloc(headBytes);
  head.writeUIntBE(endsAtMs, 0, endBytes);
  head.set(seal.of(purpose, box, endsAtMs, encrypted), endBytes);
  return Buffer.concat([head, encrypted]);
}

/** Null if no gateway of the fleet sealed this record for this box, or if it has expired. */
export function openRecord<P extends HandedPurpose>(
  seal: RecordSeal,
  purpose: P,
  box: string,
  record: Buffer,
  nowMs: number,
): Records[P] | null {
  const isSized = record.length > headBytes && record.length <= maxRecordBytes;
  const endsAtMs = isSized ? record.readUIntBE(0, endBytes) : 0;
  const encrypted = record.subarray(isSized ? headBytes : record.length);
  const sealed = isSized ? record.subarray(endBytes, headBytes) : new Uint8Array(0);
  if (!seal.check(sealed, nowMs, purpose, box, endsAtMs, encrypted)) return null;
  // A gateway wrote it: the seal says so.
  return JSON.parse(seal.decrypt(encrypted).toString('utf8'), fromJson) as Records[P];
}

/** The body of a file is the only thing in a record that JSON has no form for. */
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
