import { FrameError } from './frames.ts';
import type { Rule } from './verdict.ts';

/**
 * What a gateway and its signing process say to each other, over the process's standard input and output. Bytes stand in base64.
 * The gateway says with `head` how far it knows each audit log to have come, then `open`, and is told `ready` with the id of the log that is
 * added to; from then on `wallet`, `sign` and `judge`. Behind `signed` comes, as soon as the disk has its line of the
 * audit log, `noted`. A `fault` is the last that is told.
 */
export type ToSigner =
  | { readonly op: 'head'; readonly logId: string; readonly head: LogHead }
  | { readonly op: 'open'; readonly salt: Uint8Array; readonly proof: Uint8Array }
  | { readonly op: 'wallet'; readonly publicKey: string; readonly sealedSeed: Uint8Array }
  | SignCommand;

/** `judge`: what `sign` would be answered now; nothing is signed, counted or noted in the audit log. */
export interface SignCommand {
  readonly op: 'sign' | 'judge';
  readonly id: number;
  readonly orderId: string;
  readonly publicKey: string;
  readonly message: Uint8Array;
  /** When the gateway asked the store, and was told that trading goes on; `process.hrtime`. */
  readonly runningAtNs: bigint;
}

/** Where an audit log stands. */
export interface LogHead {
  readonly lines: number;
  readonly mac: Uint8Array;
}

export const signerFaults = [
  'unsafe_files',
  'wrong_passphrase',
  'passphrase_unreadable',
  'audit_damaged',
  /** The store has a note of a log that is not there. */
  'audit_missing',
  'audit_unwritable',
  'policy_refused',
] as const;
export type SignerFault = (typeof signerFaults)[number];

export type FromSigner =
  | { readonly op: 'ready'; readonly logId: string }
  | { readonly op: 'fault'; readonly fault: SignerFault; readonly what: string }
  | { readonly op: 'head'; readonly head: LogHead }
  | { readonly op: 'signed'; readonly id: number; readonly signature: Uint8Array }
  /** The audit log's lines of this command, and of all before it, are on the disk. */
  | { readonly op: 'noted'; readonly id: number }
  | { readonly op: 'allowed'; readonly id: number }
  | { readonly op: 'refused'; readonly id: number; readonly rule: Rule; readonly message: string }
  | { readonly op: 'busy'; readonly id: number }
  /** The sealed wallet does not open: what was stored is not what was sealed. */
  | { readonly op: 'damaged_wallet'; readonly publicKey: string };

/** What a command to sign or to judge is answered. */
export type SignAnswer = Extract<FromSigner, { readonly op: 'signed' | 'allowed' | 'refused' | 'busy' }>;

/** Commands to sign and to judge that the process takes at once; one more is told `busy`. */
export const maxQueued = 256;
/** Notes of logs that the process takes: more than folders have logs. */
export const maxHeads = 1_024;
const maxOrderIdLength = 64;
const maxFieldBytes = 4_096;

type Fields = Readonly<Record<string, unknown>>;

/** Reads what a gateway says; throws `FrameError` where it is none of it. */
export function readToSigner(content: unknown): ToSigner {
  const fields = fieldsOf(content);
  switch (fields['op']) {
    case 'head':
      return { op: 'head', logId: text(fields, 'logId'), head: readHead(fieldsOf(fields['head'])) };
    case 'open':
      return { op: 'open', salt: bytes(fields, 'salt'), proof: bytes(fields, 'proof') };
    case 'wallet':
      return { op: 'wallet', publicKey: text(fields, 'publicKey'), sealedSeed: bytes(fields, 'sealedSeed') };
    case 'sign':
    case 'judge':
      return {
        op: fields['op'],
        id: integer(fields, 'id'),
        orderId: orderId(fields),
        publicKey: text(fields, 'publicKey'),
        message: bytes(fields, 'message'),
        runningAtNs: BigInt(digits(fields, 'runningAtNs')),
      };
    default:
      throw new FrameError('no command of the signing process');
  }
}

/** Reads what a signing process says; throws `FrameError` where it is none of it. */
export function readFromSigner(content: unknown): FromSigner {
  const fields = fieldsOf(content);
  switch (fields['op']) {
    case 'ready':
      return { op: 'ready', logId: text(fields, 'logId') };
    case 'fault': {
      const fault = signerFaults.find((name) => name === fields['fault']);
      if (fault === undefined) throw new FrameError('no fault of a signing process');
      return { op: 'fault', fault, what: text(fields, 'what') };
    }
    case 'head':
      return { op: 'head', head: readHead(fieldsOf(fields['head'])) };
    case 'signed':
      return { op: 'signed', id: integer(fields, 'id'), signature: bytes(fields, 'signature') };
    case 'noted':
    case 'allowed':
    case 'busy':
      return { op: fields['op'], id: integer(fields, 'id') };
    case 'refused':
      return { op: 'refused', id: integer(fields, 'id'), rule: text(fields, 'rule') as Rule, message: text(fields, 'message') };
    case 'damaged_wallet':
      return { op: 'damaged_wallet', publicKey: text(fields, 'publicKey') };
    default:
      throw new FrameError('no answer of a signing process');
  }
}

function fieldsOf(value: unknown): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new FrameError('no object');
  return value as Fields;
}

function readHead(fields: Fields): LogHead {
  return { lines: integer(fields, 'lines'), mac: bytes(fields, 'mac') };
}

function text(fields: Fields, name: string): string {
  const value = fields[name];
  if (typeof value !== 'string' || value.length > maxFieldBytes) throw new FrameError(`no text: ${name}`);
  return value;
}

/** Order ids stand in the audit log: letters, digits, - and _ only. */
function orderId(fields: Fields): string {
  const value = text(fields, 'orderId');
  if (value.length > maxOrderIdLength || !/^[\w-]+$/.test(value)) throw new FrameError('no order id');
  return value;
}

function digits(fields: Fields, name: string): string {
  const value = text(fields, name);
  if (!/^\d{1,20}$/.test(value)) throw new FrameError(`no number: ${name}`);
  return value;
}

function integer(fields: Fields, name: string): number {
  const value = fields[name];
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) throw new FrameError(`no number: ${name}`);
  return value;
}

function bytes(fields: Fields, name: string): Uint8Array {
  const value = text(fields, name);
  const decoded = Buffer.from(value, 'base64');
  if (decoded.toString('base64') !== value) throw new FrameError(`no base64: ${name}`);
  return new Uint8Array(decoded);
}
