import { isRecord, isSlot, type Subscription, type TransactionLogs } from './source.ts';

/** How far into a frame the signature stands on every known node; further in, the frame is parsed to find it. */
const signatureWithinBytes = 320;
const signatureKey = '"signature":"';
const signatureForm = /^[1-9A-HJ-NP-Za-km-z]{64,88}$/;
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

/**
 * The signature that a logs notification is about, read without parsing it; null where it is not found. A quote inside
 * a JSON string is escaped, so that what is found is a key of the frame and never text of a log.
 */
export function peekSignature(frame: Buffer): string | null {
  const head = frame.toString('latin1', 0, signatureWithinBytes);
  const key = head.indexOf(signatureKey);
  if (key === -1) return null;
  const start = key + signatureKey.length;
  const end = head.indexOf('"', start);
  return end === -1 ? null : head.slice(start, end);
}

/** `failed`: the transaction failed. `placeholder`: not a transaction that landed. */
export type LogsOutcome = TransactionLogs | 'failed' | 'placeholder' | 'malformed';

/** Reads the `params` of a `logsNotification`. */
export function readLogsNotification(params: unknown, receivedUs: number): LogsOutcome {
  if (!isRecord(params) || !isRecord(params['result'])) return 'malformed';
  const { context, value } = params['result'];
  if (!isRecord(context) || !isRecord(value) || !isSlot(context['slot'])) return 'malformed';
  const { signature, err, logs } = value;
  if (typeof signature !== 'string' || !signatureForm.test(signature)) return 'malformed';
  if (err !== null) return err === undefined ? 'malformed' : 'failed';
  if (placeholderForm.test(signature)) return 'placeholder';
  if (!isTexts(logs)) return 'malformed';
  return { signature, slot: context['slot'], logs, receivedUs };
}

function isTexts(value: unknown): value is string[] {
  if (!Array.isArray(value)) return false;
  for (const item of value) if (typeof item !== 'string') return false;
  return true;
}
