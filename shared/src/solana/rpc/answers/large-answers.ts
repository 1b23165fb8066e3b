import type { Worker } from 'node:worker_threads';
import { beginThread } from '../../../runtime/thread/restarting-thread.ts';
import { programUrl } from '../../../runtime/thread/programs.ts';
import { blockIn, keepTransactions } from './keep-transactions.ts';
import { isTooDeep } from './nesting.ts';

/** A longer answer is parsed in another thread. Here it would delay all other work by milliseconds. */
const largeBytes = 128 * 1_024;
/** Items of a long list that one message from the thread contains. */
export const maxItemsAtOnce = 256;
/** The same for transactions of a block, which are longer. */
export const maxTransactionsAtOnce = 32;
/** Fields of a result that hold its long list. */
export const longLists = ['transactions', 'signatures', 'value'] as const;
/** Total bytes of long answers that are being parsed; further answers are refused. */
const maxWaitingBytes = 64 * 1_024 * 1_024;
/** A thread without work ends after this time. */
const idleMs = 30_000;

export interface ToParser {
  readonly id: number;
  /** UTF-8. */
  readonly json: Uint8Array;
  /** Signatures and addresses by which the transactions of a block are chosen (`keepTransactions`); null for all. */
  readonly keep: ReadonlySet<string> | null;
}

/** `items` are sent first, in order. They replace the empty list at `result`, or at one of its `longLists`. */
export type FromParser =
  | { readonly id: number; readonly kind: 'items'; readonly items: readonly unknown[] }
  | { readonly id: number; readonly kind: 'answer'; readonly answer: unknown }
  | { readonly id: number; readonly kind: 'malformed' | 'too_deep' };

/** `busy`: too many answers are being parsed, or the thread failed. */
export type Parsed = { readonly kind: 'parsed'; readonly answer: unknown } | { readonly kind: 'malformed' | 'too_deep' | 'busy' };

interface Waiting {
  readonly bytes: number;
  readonly items: unknown[];
  readonly settle: (parsed: Parsed) => void;
}

let thread: Worker | null = null;
let idle: NodeJS.Timeout | undefined;
let lastId = 0;
let waitingBytes = 0;
const waiting = new Map<number, Waiting>();

/**
 * Parses a JSON-RPC answer, or the notification of a block; a long one in another thread. The caller must not use `json` afterwards. With `keep`, a block is returned with
 * only the transactions of these signatures and addresses. Never rejects.
 */
export function parseAnswer(json: Buffer, keep: ReadonlySet<string> | null = null): Parsed | Promise<Parsed> {
  return json.length <= largeBytes ? parseHere(json, keep) : parseBeside(json, keep);
}

function parseHere(json: Buffer, keep: ReadonlySet<string> | null): Parsed {
  if (isTooDeep(json)) return { kind: 'too_deep' };
  try {
    const answer: unknown = JSON.parse(json.toString('utf8'));
    if (keep !== null) keepTransactions(answer, keep);
    return { kind: 'parsed', answer };
  } catch {
    return { kind: 'malformed' };
  }
}

async function parseBeside(json: Buffer, keep: ReadonlySet<string> | null): Promise<Parsed> {
  const bytes = json.length;
  if (waitingBytes + bytes > maxWaitingBytes) return { kind: 'busy' };
  waitingBytes += bytes;
  clearTimeout(idle);
  thread ??= begin();
  const id = ++lastId;
  const { buffer } = json;
  // A buffer with memory of its own is transferred to the thread; a view of shared memory is copied.
  const isOwn = buffer instanceof ArrayBuffer && buffer.byteLength === bytes;
  const message: ToParser = { id, json: new Uint8Array(buffer, json.byteOffset, bytes), keep };
  const parsed = new Promise<Parsed>((resolve) => waiting.set(id, { bytes, items: [], settle: resolve }));
  thread.ref();
  thread.postMessage(message, isOwn ? [buffer] : []);
  return await parsed;
}

function begin(): Worker {
  const worker = beginThread(programUrl('answers-thread'), 'answers', {});
  worker.on('message', (message: FromParser) => take(message));
  // The error needs no log entry of its own: every waiting answer reports it.
  worker.on('error', () => lose(worker));
  worker.on('exit', () => lose(worker));
  return worker;
}

function take(message: FromParser): void {
  const one = waiting.get(message.id);
  if (one === undefined) return;
  if (message.kind === 'items') {
    for (const item of message.items) one.items.push(item);
    return;
  }
  settle(message.id, one, message.kind === 'answer' ? { kind: 'parsed', answer: withItems(message.answer, one.items) } : message);
}

function settle(id: number, one: Waiting, parsed: Parsed): void {
  waiting.delete(id);
  waitingBytes -= one.bytes;
  one.settle(parsed);
  if (waiting.size > 0 || thread === null) return;
  thread.unref();
  const ending = thread;
  idle = setTimeout(() => {
    if (thread === ending) thread = null;
    void ending.terminate();
  }, idleMs);
  idle.unref();
}

function lose(worker: Worker): void {
  if (thread !== worker) return;
  thread = null;
  for (const [id, one] of waiting) settle(id, one, { kind: 'busy' });
}

function withItems(answer: unknown, items: readonly unknown[]): unknown {
  if (items.length === 0) return answer;
  const holder = answer as { result?: unknown };
  const inner = blockIn(answer) as Record<string, unknown>;
  const name = longLists.find((one) => Array.isArray(inner[one]));
  if (Array.isArray(holder.result)) holder.result = items;
  else if (name !== undefined) inner[name] = items;
  return answer;
}
