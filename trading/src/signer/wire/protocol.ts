import { isRecord } from '@sluice/shared/solana/encoding/json-forms.ts';
import { FrameError } from './frames.ts';
import type { Rule } from '../checks/verdict.ts';

/**
 * The messages between a gateway and its signing process, over the process's standard input and output. Byte arrays are base64.
 * The gateway sends a `head` for each audit log, with its recorded end, and then `open`. The process answers `ready` with the id of the
 * log that it writes. After that the gateway sends `wallet`, `seal`, `sign` and `judge`. The process answers `seal` with `sealed`, and `sign` with
 * `signed`, and sends `noted` when the line of the audit log is on the disk. A `fault` is its last message.
 */

/** Reads a field of a message. Throws `FrameError` if it is not valid. */
type Reader<T> = (value: unknown, name: string) => T;
/** The fields of each kind of message. */
type Shapes = Readonly<Record<string, Readonly<Record<string, Reader<unknown>>>>>;
type MessageOf<Of extends Shapes> = {
  [Op in keyof Of]: { readonly op: Op } & { readonly [Field in keyof Of[Op]]: ReturnType<Of[Op][Field]> };
}[keyof Of];

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

/** An error from which the signing process cannot recover. It reports the error to its gateway and ends. */
export class Fault extends Error {
  readonly fault: SignerFault;

  constructor(fault: SignerFault, what: string) {
    super(what);
    this.fault = fault;
  }
}

/** Maximum number of `sign` and `judge` commands that wait in the process. A further one is answered with `busy`. */
export const maxQueued = 256;
/** Maximum number of `head` messages that the process accepts: more than a folder has logs. */
export const maxHeads = 1_024;
const maxOrderIdLength = 64;
const maxFieldBytes = 4_096;
const seedBytes = 32;

const text: Reader<string> = (value, name) => {
  if (typeof value !== 'string' || value.length > maxFieldBytes) throw new FrameError(`not a text: ${name}`);
  return value;
};

/** Order ids are written to the audit log, so only letters, digits, - and _ are allowed. */
const orderId: Reader<string> = (value, name) => {
  const id = text(value, name);
  if (id.length > maxOrderIdLength || !/^[\w-]+$/.test(id)) throw new FrameError('not an order id');
  return id;
};

const nanoseconds: Reader<bigint> = (value, name) => {
  const digits = text(value, name);
  if (!/^\d{1,20}$/.test(digits)) throw new FrameError(`no number: ${name}`);
  return BigInt(digits);
};

const integer: Reader<number> = (value, name) => {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) throw new FrameError(`no number: ${name}`);
  return value;
};

const bytes: Reader<Uint8Array> = (value, name) => {
  const base64 = text(value, name);
  const decoded = Buffer.from(base64, 'base64');
  if (decoded.toString('base64') !== base64) throw new FrameError(`not base64: ${name}`);
  return new Uint8Array(decoded);
};

const seed: Reader<Uint8Array | null> = (value, name) => {
  const read = value === null ? null : bytes(value, name);
  if (read !== null && read.length !== seedBytes) throw new FrameError('not a seed');
  return read;
};

const logHead: Reader<LogHead> = (value) => {
  const { lines, mac } = record(value);
  return { lines: integer(lines, 'lines'), mac: bytes(mac, 'mac') };
};

const fault: Reader<SignerFault> = (value) => {
  const found = signerFaults.find((name) => name === value);
  if (found === undefined) throw new FrameError('not a fault of a signing process');
  return found;
};

/** The process names the rule; the gateway only passes it on. */
const rule: Reader<Rule> = (value, name) => text(value, name) as Rule;

/** For fields that gateways of earlier versions do not send. */
function optional<T>(read: Reader<T>): Reader<T | null> {
  return (value, name) => (value == null ? null : read(value, name));
}

const signFields = {
  id: integer,
  orderId,
  publicKey: text,
  message: bytes,
  poolAccount: optional(bytes),
  /** When the gateway began the reading of the store that found trading not halted (`process.hrtime`). */
  runningAtNs: nanoseconds,
  /** The gateway's time, Unix milliseconds. */
  nowMs: optional(integer),
};
const sealedFields = { publicKey: text, sealedSeed: bytes };

const toSigner = {
  head: { logId: text, head: logHead },
  open: { salt: bytes, proof: bytes },
  wallet: sealedFields,
  /** Makes a wallet, or takes the one with this seed, and seals it. A seed that the process makes never leaves it. */
  seal: { id: integer, seed },
  sign: signFields,
  /** Gets the decision that `sign` would get now. Nothing is signed, counted or written to the audit log. */
  judge: signFields,
} satisfies Shapes;

const fromSigner = {
  ready: { logId: text },
  fault: { fault, what: text },
  head: { head: logHead },
  signed: { id: integer, signature: bytes },
  /** The audit log's lines of this command, and of all before it, are on the disk. */
  noted: { id: integer },
  allowed: { id: integer },
  refused: { id: integer, rule, message: text },
  busy: { id: integer },
  sealed: { id: integer, ...sealedFields },
  /** The sealed wallet cannot be opened: the stored bytes are damaged. */
  damaged_wallet: { publicKey: text },
} satisfies Shapes;

export type ToSigner = MessageOf<typeof toSigner>;
export type FromSigner = MessageOf<typeof fromSigner>;
export type SealCommand = Extract<ToSigner, { readonly op: 'seal' }>;
export type SignCommand = Extract<ToSigner, { readonly op: 'sign' | 'judge' }>;
/** The answer to a `sign` or `judge` command. */
export type SignAnswer = Extract<FromSigner, { readonly op: 'signed' | 'allowed' | 'refused' | 'busy' }>;
/** A wallet as it is stored. */
export type SealedWallet = Omit<Extract<ToSigner, { readonly op: 'wallet' }>, 'op'>;

/** Reads a message of a gateway. Throws `FrameError` if it is not valid. */
export function readToSigner(content: unknown): ToSigner {
  return readMessage(toSigner, content, 'not a command of the signing process');
}

/** Reads a message of a signing process. Throws `FrameError` if it is not valid. */
export function readFromSigner(content: unknown): FromSigner {
  return readMessage(fromSigner, content, 'not an answer of a signing process');
}

function readMessage<Of extends Shapes>(shapes: Of, content: unknown, unknownOp: string): MessageOf<Of> {
  const fields = record(content);
  const { op } = fields;
  if (typeof op !== 'string' || !Object.hasOwn(shapes, op)) throw new FrameError(unknownOp);
  const read = Object.entries(shapes[op]!).map(([name, reader]) => [name, reader(fields[name], name)] as const);
  return { op, ...Object.fromEntries(read) } as MessageOf<Of>;
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  if (!isRecord(value)) throw new FrameError('not an object');
  return value;
}
