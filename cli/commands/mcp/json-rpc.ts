import type { Readable } from 'node:stream';
import { isRecord } from '@sluice/shared/solana/encoding/json-forms.ts';

/** Maximum line length, in characters. The rest of a longer line is dropped as it arrives. */
const maxLineChars = 1_048_576;
/** Maximum number of requests in progress. Further ones are refused. */
const maxOpen = 32;

const codes = {
  malformed: -32_700,
  invalid: -32_600,
  unknownMethod: -32_601,
  wrongParams: -32_602,
  failed: -32_603,
  busy: -32_000,
} as const;

/** An error answer: the caller gets this code and message. */
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

/** Serves JSON-RPC 2.0 with one message on each line, as the stdio transport of the Model Context Protocol requires. Resolves when the input ends and
 * all answers are written.
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

  function handleLine(line: string): void {
    const message = parse(line);
    if (message === null) return send({ id: null, error: { code: codes.malformed, message: 'The line is not JSON.' } });
    const { id, method, params } = message;
    if (typeof method !== 'string') {
      // An answer to a request that this server never sends.
      if ('result' in message || 'error' in message) return;
      return send({ id: isId(id) ? id : null, error: { code: codes.invalid, message: 'The message has no method, or is a batch.' } });
    }
    const args = isRecord(params) ? params : {};
    if (id === undefined) {
      if (method === 'notifications/cancelled' && isId(args['requestId'])) open.get(args['requestId'])?.cancel.abort();
      return;
    }
    if (!isId(id)) return send({ id: null, error: { code: codes.invalid, message: 'The id must be a string or a number.' } });
    if (open.has(id)) return send({ id: null, error: { code: codes.invalid, message: 'A request with this id is in progress.' } });
    if (open.size >= maxOpen) {
      return send({ id, error: { code: codes.busy, message: `${maxOpen} requests are in progress. Wait for one of them.` } });
    }
    const cancel = new AbortController();
    open.set(id, { cancel, answered: answer(id, method, args, cancel.signal) });
  }

  for await (const line of linesOf(input)) {
    if (line === null) send({ id: null, error: { code: codes.invalid, message: `A line has at most ${maxLineChars} characters.` } });
    else if (line.trim() !== '') handleLine(line);
  }
  await Promise.all([...open.values()].map(({ answered }) => answered));
}

/** Yields null for a line that is too long, as soon as it is. */
async function* linesOf(input: Readable): AsyncGenerator<string | null, void, undefined> {
  let rest = '';
  let isDropping = false;
  for await (const text of input.setEncoding('utf8') as AsyncIterable<string>) {
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    for (const line of lines) {
      if (isDropping) isDropping = false;
      else yield line.length > maxLineChars ? null : line;
    }
    if (!isDropping && rest.length > maxLineChars) {
      isDropping = true;
      yield null;
    }
    if (isDropping) rest = '';
  }
}

function parse(line: string): Readonly<Record<string, unknown>> | null {
  try {
    const message: unknown = JSON.parse(line);
    return isRecord(message) ? message : {};
  } catch {
    return null;
  }
}

function isId(value: unknown): value is Id {
  return typeof value === 'string' || typeof value === 'number';
}
