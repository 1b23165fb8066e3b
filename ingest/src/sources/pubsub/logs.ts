import { crc32 } from 'node:zlib';
import { isRecord, isSlot } from '@sluice/shared/solana/encoding/json-forms.ts';
import type { Subscription } from '@sluice/shared/solana/pubsub/subscription.ts';

export const signatureForm = /^[1-9A-HJ-NP-Za-km-z]{64,88}$/;
/** Nodes announce simulation-like executions under this signature. */
const placeholderForm = /^1+$/;

export function logsSubscription(programId: string): Subscription {
  return {
    name: `logs:${programId}`,
    method: 'logsSubscribe',
    params: [{ mentions: [programId] }, { commitment: 'processed' }],
    required: true,
  };
}

/** The part of a notification before its log lines. */
export interface LogsHead {
  readonly signature: string;
  readonly slot: number;
  readonly failed: boolean;
  /** Byte at which the list of lines begins. */
  readonly linesAt: number;
}

const beforeContext = '{"jsonrpc":"2.0","method":"logsNotification","params":{"result":{"context":{';
const slotField = '"slot":';
const beforeSignature = '},"value":{"signature":"';
const beforeLines = '","err":null,"logs":[';
const afterSignature = '","err":';
/** The same fields of a successful transaction in the other order. */
const beforeLateSignature = '},"value":{"err":null,"signature":"';
const beforeLateLines = '","logs":[';
const afterLines = ']}},"subscription":';
const quote = 34;
const colon = 58;
const zero = 48;
const comma = 44;
const backslash = 92;
const closeBracket = 93;
const maxSlotDigits = 15;
/** Longest head: slot and signature between the fixed parts. */
const headBytes = 320;
const maxSignatureLength = 88;

/**
 * Reads the head of a notification in the form that nodes write, without parsing the frame. Returns null for any other frame, which
 * `JSON.parse` then reads. The context may hold more than the slot, and `err` may come before the signature. Most frames repeat what
 * another endpoint or another subscription has sent, and end here.
 */
export function readLogsHead(frame: Buffer): LogsHead | null {
  if (frame.length < 128 || frame[beforeContext.length - 2] !== colon) return null;
  const text = frame.toString('latin1', 0, headBytes);
  if (!text.startsWith(beforeContext)) return null;
  const contextEnd = text.indexOf('}', beforeContext.length);
  const slot = slotIn(text, contextEnd);
  if (slot === -1) return null;
  const early = text.startsWith(beforeSignature, contextEnd);
  if (!early && !text.startsWith(beforeLateSignature, contextEnd)) return null;
  const signatureAt = contextEnd + (early ? beforeSignature : beforeLateSignature).length;
  const signatureEnd = text.indexOf('"', signatureAt);
  if (signatureEnd - signatureAt > maxSignatureLength) return null;
  // Copied out of the frame: signatures are remembered, and a slice would keep the whole text alive.
  const signature = frame.toString('latin1', signatureAt, signatureEnd);
  if (!signatureForm.test(signature) || placeholderForm.test(signature)) return null;
  const linesMark = early ? beforeLines : beforeLateLines;
  if (text.startsWith(linesMark, signatureEnd)) {
    return { signature, slot, failed: false, linesAt: signatureEnd + linesMark.length };
  }
  if (!early) return null;
  const errorAt = signatureEnd + afterSignature.length;
  const opens = text.charAt(errorAt);
  if (!text.startsWith(afterSignature, signatureEnd) || (opens !== '{' && opens !== '"')) return null;
  return { signature, slot, failed: true, linesAt: -1 };
}

const cutMark = Buffer.from('"Log truncated"');

/** A checksum of the log lines as they were sent. Null for cut logs, because each node cuts them where it is configured to. */
export function digestLines(frame: Buffer, { linesAt }: LogsHead): number | null {
  const end = frame.lastIndexOf(closeBracket);
  if (end < linesAt || frame.indexOf(cutMark, linesAt) !== -1) return null;
  return crc32(frame.subarray(linesAt, end));
}

/** The slot of a context that ends at `contextEnd`; -1 if it has none. */
function slotIn(text: string, contextEnd: number): number {
  let at = beforeContext.length;
  if (!text.startsWith(slotField, at)) {
    at = text.indexOf(slotField, at);
    if (at === -1 || at > contextEnd || text.charCodeAt(at - 1) !== comma) return -1;
  }
  at += slotField.length;
  let slot = 0;
  for (let digits = 0; digits <= maxSlotDigits; digits++) {
    const digit = text.charCodeAt(at + digits) - zero;
    if (digit >= 0 && digit <= 9) slot = slot * 10 + digit;
    else return digits > 0 && (at + digits === contextEnd || digit === comma - zero) ? slot : -1;
  }
  return -1;
}

/**
 * Reads the log lines after a head. Leaves out the lines that contain no event: text (except lines that begin with one of `textPrefixes`),
 * return data and compute units. Returns null if the rest of the frame does not have the form that nodes write.
 */
export function readLogsLines(frame: Buffer, { linesAt }: LogsHead, textPrefixes: readonly string[] = []): string[] | null {
  const text = frame.toString('latin1');
  const lines: string[] = [];
  let at = linesAt;
  if (text.charCodeAt(at) === closeBracket) return text.startsWith(afterLines, at) ? lines : null;
  for (;;) {
    if (text.charCodeAt(at) !== quote) return null;
    const start = at + 1;
    const end = endOfString(text, start);
    if (end === -1) return null;
    if (!holdsNoEvent(text, start, end, textPrefixes)) {
      const line = text.slice(start, end);
      // No line of the runtime needs an escape; one that has any is left to the parser.
      if (line.includes('\\')) return null;
      lines.push(line);
    }
    at = end + 1;
    const next = text.charCodeAt(at);
    if (next === comma) at++;
    else return next === closeBracket && text.startsWith(afterLines, at) ? lines : null;
  }
}

function endOfString(text: string, from: number): number {
  let end = text.indexOf('"', from);
  while (end !== -1 && text.charCodeAt(end - 1) === backslash) {
    let slashes = 1;
    while (text.charCodeAt(end - 1 - slashes) === backslash) slashes++;
    if (slashes % 2 === 0) break;
    end = text.indexOf('"', end + 1);
  }
  return end;
}

const lowerL = 108;
const lowerR = 114;
const lowerS = 115;

function holdsNoEvent(text: string, start: number, end: number, textPrefixes: readonly string[]): boolean {
  const kind = text.charCodeAt(start + 8); // after `Program `
  if (kind === lowerL && text.charCodeAt(start + 11) === colon) {
    return text.startsWith('Program log: ', start) && !startsWithAny(text, start, textPrefixes);
  }
  if (kind === lowerR && text.charCodeAt(start + 14) === colon) return text.startsWith('Program return: ', start);
  return text.charCodeAt(end - 1) === lowerS && text.charCodeAt(end - 7) !== lowerS && text.startsWith(' compute units', end - 14);
}

export interface NotifiedLogs {
  readonly signature: string;
  readonly slot: number;
  readonly logs: readonly string[];
}

function startsWithAny(text: string, start: number, prefixes: readonly string[]): boolean {
  for (const prefix of prefixes) if (text.startsWith(prefix, start)) return true;
  return false;
}

/** `failed`: the transaction failed. `placeholder`: it is not a transaction that landed. */
export type LogsOutcome = NotifiedLogs | 'failed' | 'placeholder' | 'malformed';

/** Reads the `params` of a `logsNotification`. */
export function readLogsNotification(params: unknown): LogsOutcome {
  if (!isRecord(params) || !isRecord(params['result'])) return 'malformed';
  const { context, value } = params['result'];
  if (!isRecord(context) || !isRecord(value) || !isSlot(context['slot'])) return 'malformed';
  const { signature, err, logs } = value;
  if (typeof signature !== 'string' || !signatureForm.test(signature)) return 'malformed';
  if (err !== null) return err === undefined ? 'malformed' : 'failed';
  if (placeholderForm.test(signature)) return 'placeholder';
  if (!isTexts(logs)) return 'malformed';
  return { signature, slot: context['slot'], logs };
}

function isTexts(value: unknown): value is string[] {
  if (!Array.isArray(value)) return false;
  for (const item of value) if (typeof item !== 'string') return false;
  return true;
}
