import { isRecord } from '@sluice/shared/solana/encoding/json-forms.ts';
import { FrameError } from './frames.ts';
import type { Rule } from '../checks/verdict.ts';

/**
 * The messages between a gateway and its signing process, over the process's standard input and output. Byte arrays are base64.
 * The gateway sends a `head` for each audit log, with its recorded end, and then `open`. The process answers `ready` with the id of the
 * log that it writes. After that the gateway sends `wallet`, `seal`, `sign` and `judge`. The process answers `seal` with `sealed`, and `sign` with
 * `signed`, and sends `noted` when the line of the audit log is on the disk. A `fault` is its last message.
 */
export type ToSigner =
  | { readonly op: 'head'; readonly logId: string; readonly head: LogHead }
  | { readonly op: 'open'; readonly salt: Uint8Array; readonly proof: Uint8Array }
  | { readonly op: 'wallet'; readonly publicKey: string; readonly sealedSeed: Uint8Array }
  | SealCommand
  | SignCommand;

/** Makes a wallet, or takes the one with this seed, and seals it. A seed that the process makes never leaves it. */
export interface SealCommand {
  readonly op: 'seal';
  readonly id: number;
  readonly seed: Uint8Array | null;
}

/** A wallet as it is stored. */
export interface SealedWallet {
  readonly publicKey: string;
  readonly sealedSeed: Uint8Array;
}

/** `judge` gets the decision that `sign` would get now. Nothing is signed, counted or written to the audit log. */
export interface SignCommand {
  readonly op: 'sign' | 'judge';
  readonly id: number;
  readonly orderId: string;
  readonly publicKey: string;
  readonly message: Uint8Array;
  readonly poolAccount: Uint8Array | null;
  /** When the gateway began the reading of the store that found trading not halted (`process.hrtime`). */
  readonly runningAtNs: bigint;
  /** The gateway's time, Unix milliseconds. Gateways of earlier versions do not send it. */
  readonly nowMs: number | null;
}

/** The end of an audit log. */
export interface LogHead {
  readonly lines: number;
  readonly mac: Uint8Array;
}

export const signerFaults = [
  'unsafe_files',
  'wrong_passphrase',
  'passphrase_unreadable',
  'audit_damaged',
  /** A log that the store has a record of does not exist. */
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
  | ({ readonly op: 'sealed'; readonly id: number } & SealedWallet)
  /** The sealed wallet cannot be opened: the stored bytes are damaged. */
  | { readonly op: 'damaged_wallet'; readonly publicKey: string };

/** The answer to a `sign` or `judge` command. */
export type SignAnswer = Extract<FromSigner, { readonly op: 'signed' | 'allowed' | 'refused' | 'busy' }>;

/** Maximum number of `sign` and `judge` commands that wait in the process. A further one is answered with `busy`. */
export const maxQueued = 256;
/** Maximum number of `head` messages that the process accepts: more than a folder has logs. */
export const maxHeads = 1_024;
const maxOrderIdLength = 64;
const maxFieldBytes = 4_096;
const seedBytes = 32;

type Fields = Readonly<Record<string, unknown>>;

/** Reads a message of a gateway. Throws `FrameError` if it is not valid. */
export function readToSigner(content: unknown): ToSigner {
  const fields = fieldsOf(content);
  switch (fields['op']) {
    case 'head':
      return { op: 'head', logId: text(fields, 'logId'), head: readHead(fieldsOf(fields['head'])) };
    case 'open':
      return { op: 'open', salt: bytes(fields, 'salt'), proof: bytes(fields, 'proof') };
    case 'wallet':
      return { op: 'wallet', publicKey: text(fields, 'publicKey'), sealedSeed: bytes(fields, 'sealedSeed') };
    case 'seal': {
      const seed = fields['seed'] === null ? null : bytes(fields, 'seed');
      if (seed !== null && seed.length !== seedBytes) throw new FrameError('not a seed');
      return { op: 'seal', id: integer(fields, 'id'), seed };
    }
    case 'sign':
    case 'judge':
      return {
        op: fields['op'],
        id: integer(fields, 'id'),
        orderId: orderId(fields),
        publicKey: text(fields, 'publicKey'),
        message: bytes(fields, 'message'),
        // Gateways of earlier versions do not send it.
        poolAccount: fields['poolAccount'] == null ? null : bytes(fields, 'poolAccount'),
        runningAtNs: BigInt(digits(fields, 'runningAtNs')),
        nowMs: fields['nowMs'] === undefined ? null : integer(fields, 'nowMs'),
      };
    default:
      throw new FrameError('not a command of the signing process');
  }
}

/** Reads a message of a signing process. Throws `FrameError` if it is not valid. */
export function readFromSigner(content: unknown): FromSigner {
  const fields = fieldsOf(content);
  switch (fields['op']) {
    case 'ready':
      return { op: 'ready', logId: text(fields, 'logId') };
    case 'fault': {
      const fault = signerFaults.find((name) => name === fields['fault']);
      if (fault === undefined) throw new FrameError('not a fault of a signing process');
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
    case 'sealed':
      return { op: 'sealed', id: integer(fields, 'id'), publicKey: text(fields, 'publicKey'), sealedSeed: bytes(fields, 'sealedSeed') };
    case 'damaged_wallet':
      return { op: 'damaged_wallet', publicKey: text(fields, 'publicKey') };
    default:
      throw new FrameError('not an answer of a signing process');
  }
}

function fieldsOf(value: unknown): Fields {
  if (!isRecord(value)) throw new FrameError('not an object');
  return value;
}

function readHead(fields: Fields): LogHead {
  return { lines: integer(fields, 'lines'), mac: bytes(fields, 'mac') };
}

function text(fields: Fields, name: string): string {
  const value = fields[name];
  if (typeof value !== 'string' || value.length > maxFieldBytes) throw new FrameError(`not a text: ${name}`);
  return value;
}

/** Order ids are written to the audit log, so only letters, digits, - and _ are allowed. */
function orderId(fields: Fields): string {
  const value = text(fields, 'orderId');
  if (value.length > maxOrderIdLength || !/^[\w-]+$/.test(value)) throw new FrameError('not an order id');
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
  if (decoded.toString('base64') !== value) throw new FrameError(`not base64: ${name}`);
  return new Uint8Array(decoded);
}
