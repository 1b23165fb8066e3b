import type { Readable } from 'node:stream';

/** Longest line of a caller, characters. A longer one ends the server, because it is no message of an honest caller. */
const maxLineChars = 1_048_576;
/** Requests that are carried out at a time. Further ones are refused. */
const maxOpen = 32;

const codes = {
  malformed: -32_700,
  invalid: -32_600,
  unknownMethod: -32_601,
  wrongParams: -32_602,
  failed: -32_603,
  busy: -32_000,
} as const;

/** A request that cannot be answered. The caller gets the code and the message. */
export class RpcRefusal extends Error {
  readonly code: number;

  constructor(code: keyof typeof codes, message: string) {
    super(message);
    this.code = codes[code];
  }
}

/** Carries out one request. The signal aborts if the caller cancels it. Rejects with an `RpcRefusal`. */
export type Handle = (method: string, params: Readonly<Record<string, unknown>>, signal: AbortSignal) => Promise<unknown>;

type Id = string | number;

/**
 * Serves JSON-RPC 2.0, one message a line, as the Model Context Protocol has it on standard input and output. Resolves when the input ends and
 * all answers are written. Rejects if a line is too long.
 */
export async function serveLines(input: Readable, write: (line: string) => void, handle: Handle): Promise<void> {
  const open = new Map<Id, { readonly cancel: AbortController; readonly answered: Promise<void> }>();
  const send = (message: object): void => write(JSON.stringify({ jsonrpc: '2.0', ...message }));

  async function answer(id: Id, method: string, params: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<void> {
    try {
      const result = await handle(method, params, signal);
      // A cancelled request has no answer.
      if (!signal.aborted) send({ id, result });
    } catch (error) {
      if (signal.aborted) return;
      const code = error instanceof RpcRefusal ? error.code : codes.failed;
      send({ id, error: { code, message: error instanceof Error ? error.message : String(error) } });
    } finally {
      open.delete(id);
    }
  }

  function take(line: string): void {
    const message = parse(line);
    if (message === null) return send({ id: null, error: { code: codes.malformed, message: 'The line is not JSON.' } });
    const { id, method, params } = message;
    if (typeof method !== 'string') {
      // An answer to a request that this server never sends.
      if ('result' in message || 'error' in message) return;
      return send({ id: isId(id) ? id : null, error: { code: codes.invalid, message: 'The message has no method.' } });
    }
    const given = isObject(params) ? params : {};
    if (id === undefined) {
      if (method === 'notifications/cancelled' && isId(given['requestId'])) open.get(given['requestId'])?.cancel.abort();
      return;
    }
    if (!isId(id) || open.has(id)) return send({ id: null, error: { code: codes.invalid, message: 'The id is not usable.' } });
    if (open.size >= maxOpen) {
      return send({ id, error: { code: codes.busy, message: `${maxOpen} requests are under way. Wait for one of them.` } });
    }
    const cancel = new AbortController();
    open.set(id, { cancel, answered: answer(id, method, given, cancel.signal) });
  }

  let rest = '';
  for await (const text of input.setEncoding('utf8') as AsyncIterable<string>) {
    const lines = (rest + text).split('\n');
    if (lines.some(({ length }) => length > maxLineChars)) throw new Error(`A message is longer than ${maxLineChars} characters.`);
    rest = lines.pop()!;
    for (const line of lines) if (line.trim() !== '') take(line);
  }
  await Promise.all([...open.values()].map(({ answered }) => answered));
}

function parse(line: string): Readonly<Record<string, unknown>> | null {
  try {
    const message: unknown = JSON.parse(line);
    return isObject(message) ? message : {};
  } catch {
    return null;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isId(value: unknown): value is Id {
  return typeof value === 'string' || typeof value === 'number';
}
