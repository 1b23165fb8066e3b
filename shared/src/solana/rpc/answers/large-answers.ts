import type { Worker } from 'node:worker_threads';
import { beginThread } from '../../../runtime/thread/restarting-thread.ts';
import { programUrl, type ProgramName } from '../../../runtime/thread/programs.ts';
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

/** Reads the transactions of blocks: by a function, which changes the answer itself, and in a thread that has the same function if the answer is long. */
export interface BlockReader {
  readonly thread: ProgramName;
  readonly read: (answer: unknown, keep: ReadonlySet<string>) => void;
}

/** Leaves the transactions as the node sent them. */
const plainReader: BlockReader = { thread: 'answers-thread', read: keepTransactions };

/** `busy`: too many answers are being parsed, or the thread failed. */
export type Parsed = { readonly kind: 'parsed'; readonly answer: unknown } | { readonly kind: 'malformed' | 'too_deep' | 'busy' };

interface Waiting {
  readonly thread: Worker;
  readonly bytes: number;
  readonly items: unknown[];
  readonly settle: (parsed: Parsed) => void;
}

const threads = new Map<ProgramName, Worker>();
let idle: NodeJS.Timeout | undefined;
let lastId = 0;
let waitingBytes = 0;
const waiting = new Map<number, Waiting>();

/**
 * Parses a JSON-RPC answer, or the notification of a block; a long one in another thread. The caller must not use `json` afterwards. With `keep`, a block is returned with
 * only the transactions of these signatures and addresses, as the reader reads them. Never rejects.
 */
export function parseAnswer(json: Buffer, keep: ReadonlySet<string> | null = null, reader = plainReader): Parsed | Promise<Parsed> {
  return json.length <= largeBytes ? parseHere(json, keep, reader) : parseBeside(json, keep, reader);
}

function parseHere(json: Buffer, keep: ReadonlySet<string> | null, { read }: BlockReader): Parsed {
  if (isTooDeep(json)) return { kind: 'too_deep' };
  try {
    const answer: unknown = JSON.parse(json.toString('utf8'));
    if (keep !== null) read(answer, keep);
    return { kind: 'parsed', answer };
  } catch {
    return { kind: 'malformed' };
  }
}

async function parseBeside(json: Buffer, keep: ReadonlySet<string> | null, { thread: name }: BlockReader): Promise<Parsed> {
  const bytes = json.length;
  if (waitingBytes + bytes > maxWaitingBytes) return { kind: 'busy' };
  waitingBytes += bytes;
  clearTimeout(idle);
  const thread = threads.get(name) ?? begin(name);
  const id = ++lastId;
  const { buffer } = json;
  // A buffer with memory of its own is transferred to the thread; a view of shared memory is copied.
  const isOwn = buffer instanceof ArrayBuffer && buffer.byteLength === bytes;
  const message: ToParser = { id, json: new Uint8Array(buffer, json.byteOffset, bytes), keep };
  const parsed = new Promise<Parsed>((resolve) => waiting.set(id, { thread, bytes, items: [], settle: resolve }));
  thread.ref();
  thread.postMessage(message, isOwn ? [buffer] : []);
  return await parsed;
}

function begin(name: ProgramName): Worker {
  const worker = beginThread(programUrl(name), name === 'answers-thread' ? 'answers' : 'blocks', {});
  threads.set(name, worker);
  worker.on('message', (message: FromParser) => take(message));
  // The error needs no log entry of its own: every waiting answer reports it.
  worker.on('error', () => lose(name, worker));
  worker.on('exit', () => lose(name, worker));
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
  if (waiting.size > 0) return;
  for (const thread of threads.values()) thread.unref();
  idle = setTimeout(() => {
    for (const thread of threads.values()) void thread.terminate();
    threads.clear();
  }, idleMs);
  idle.unref();
}

function lose(name: ProgramName, worker: Worker): void {
  if (threads.get(name) === worker) threads.delete(name);
  for (const [id, one] of waiting) if (one.thread === worker) settle(id, one, { kind: 'busy' });
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
