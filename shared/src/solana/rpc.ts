import type { Abortable } from '../abort/when-aborted.ts';
import { createJsonPost, type JsonPost, type PostBounds } from './json-post.ts';

/** Longest answer that is read where nothing else is said; a block with all its transactions has some ten million bytes. */
const defaultMaxAnswerBytes = 64 * 1024 * 1024;
/** How long an endpoint that failed stays behind the others; doubled with each failure in a row. */
const firstPenaltyMs = 500;
const maxPenaltyMs = 30_000;

/**
 * `answer`: the node answered with a JSON-RPC error, `code`, `message` and `data` are its own.
 * `unreachable`: no endpoint gave a usable answer (connection, timeout, HTTP status); `malformed`: the last one gave
 * something that is no JSON-RPC answer; `aborted`: the caller's signal fired. `code` is 0 for these three.
 */
export type RpcErrorKind = 'answer' | 'unreachable' | 'malformed' | 'aborted';

export class RpcError extends Error {
  readonly kind: RpcErrorKind;
  readonly code: number;
  readonly data: unknown;

  constructor(kind: RpcErrorKind, code: number, message: string, data: unknown = null) {
    super(message);
    this.name = 'RpcError';
    this.kind = kind;
    this.code = code;
    this.data = data;
  }
}

export interface Rpc {
  /**
   * The `result` of one call. Throws RpcError. With `accept` the endpoints are asked one after the other, whatever they
   * answer, until it takes a result; where it takes none, the first result of all.
   */
  call(method: string, params: readonly unknown[], signal?: Abortable, accept?: (result: unknown) => boolean): Promise<unknown>;
}

/** How one endpoint has done, for those who watch over it. */
export interface EndpointHealth {
  readonly calls: number;
  /** Calls without a usable answer, or with one that says that the node is not well. */
  readonly failures: number;
  /** It failed last, and others are asked before it. */
  readonly resting: boolean;
}

export interface WatchedRpc extends Rpc {
  /** In the order of the settings. */
  health(): readonly EndpointHealth[];
}

/** Errors that speak of the request: every node would give them. Any other may be the node's alone, its provider's own among them. */
const requestFaults: ReadonlySet<number> = new Set([
  -32700, // the request is no JSON
  -32600, // invalid request
  -32602, // invalid params
  -32002, // the simulation before sending failed
  -32003, // a signature does not verify
  -32006, // a precompile refused its instruction
  -32013, // signatures of the wrong number
]);

/** Errors by which a node says that it is not well: for a while it stays behind the others for everything. */
const sickness: ReadonlySet<number> = new Set([
  -32005, // node is unhealthy or behind
  -32016, // minimum context slot not reached
  -32603, // internal error
]);

interface Endpoint {
  readonly url: string;
  readonly post: JsonPost;
  calls: number;
  failed: number;
  /** In a row. */
  failures: number;
  notBeforeMs: number;
}

/** `next`: another endpoint may do better. `sick`: this one is to be left alone for a while. */
type Attempt =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly error: RpcError; readonly next: boolean; readonly sick: boolean };

function failed(kind: RpcErrorKind, message: string): Attempt {
  return { ok: false, error: new RpcError(kind, 0, message), next: kind !== 'aborted', sick: kind !== 'aborted' };
}

function readAnswer(text: string, id: number): Attempt {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch (error) {
    return failed('malformed', `The answer is not JSON: ${String(error)}`);
  }
  if (typeof answer !== 'object' || answer === null) return failed('malformed', 'The answer is no object.');
  const { id: answeredId, result, error } = answer as Record<string, unknown>;
  if (typeof error === 'object' && error !== null) {
    const { code, message, data } = error as Record<string, unknown>;
    const number = typeof code === 'number' ? code : 0;
    const rpcError = new RpcError(
      'answer',
      number,
      typeof message === 'string' ? message : 'The node gave an error without a message.',
      data ?? null,
    );
    return { ok: false, error: rpcError, next: !requestFaults.has(number), sick: sickness.has(number) };
  }
  if (answeredId !== id || result === undefined) return failed('malformed', 'The answer carries neither result nor error, or another id.');
  return { ok: true, result };
}

async function attempt(
  { url, post }: Endpoint,
  id: number,
  body: string,
  bounds: PostBounds,
  signal: Abortable | undefined,
): Promise<Attempt> {
  const answered = await post(body, bounds, signal);
  switch (answered.kind) {
    case 'aborted':
      return failed('aborted', 'The call was aborted.');
    case 'late':
      return failed('unreachable', `No answer within ${bounds.timeoutMs} ms.`);
    case 'too_long':
      return failed('malformed', `The answer is longer than ${bounds.maxAnswerBytes} bytes.`);
    case 'failed':
      return failed('unreachable', answered.reason.replaceAll(url, 'the endpoint'));
    case 'answered': {
      const answer = readAnswer(answered.text, id);
      if (answered.status >= 200 && answered.status < 300) return answer;
      // Some providers send JSON-RPC errors with HTTP 4xx; a body that is one says more than the status.
      return !answer.ok && answer.error.kind === 'answer'
        ? { ...answer, next: true, sick: true }
        : failed('unreachable', `HTTP status ${answered.status}.`);
    }
  }
}

/**
 * JSON-RPC over HTTP with one or several endpoints of a cluster, tried in the order of their health: those that failed last
 * wait behind the others. A node's own error is final only where it speaks of the request. No URL stands in an error: it may hold a key.
 */
export function createRpc(urls: readonly string[], options: { readonly timeoutMs: number; readonly maxAnswerBytes?: number }): WatchedRpc {
  if (urls.length === 0) throw new RangeError('At least one RPC endpoint is needed.');
  const endpoints: Endpoint[] = urls.map((url) => ({ url, post: createJsonPost(url), calls: 0, failed: 0, failures: 0, notBeforeMs: 0 }));
  const bounds: PostBounds = { timeoutMs: options.timeoutMs, maxAnswerBytes: options.maxAnswerBytes ?? defaultMaxAnswerBytes };
  let lastId = 0;

  function byHealth(): readonly Endpoint[] {
    if (endpoints.length === 1) return endpoints;
    const nowMs = performance.now();
    const rank = (endpoint: Endpoint): number => Math.max(0, endpoint.notBeforeMs - nowMs);
    return [...endpoints].sort((a, b) => rank(a) - rank(b));
  }

  function note(endpoint: Endpoint, healthy: boolean): void {
    endpoint.calls++;
    if (!healthy) endpoint.failed++;
    if (healthy) {
      endpoint.failures = 0;
      endpoint.notBeforeMs = 0;
      return;
    }
    const penaltyMs = Math.min(maxPenaltyMs, firstPenaltyMs * 2 ** Math.min(endpoint.failures, 10));
    endpoint.failures++;
    endpoint.notBeforeMs = performance.now() + penaltyMs;
  }

  return {
    health: () =>
      endpoints.map(({ calls, failed: failures, notBeforeMs }) => ({ calls, failures, resting: notBeforeMs > performance.now() })),
    async call(method, params, signal, accept) {
      const id = ++lastId;
      const body = JSON.stringify({ jsonrpc: '2.0', id, method, params });
      let last: RpcError | null = null;
      let refused: { readonly result: unknown } | null = null;
      for (const endpoint of byHealth()) {
        if (signal?.aborted === true) throw new RpcError('aborted', 0, 'The call was aborted.');
        const outcome = await attempt(endpoint, id, body, bounds, signal);
        if (outcome.ok) {
          note(endpoint, true);
          if (accept === undefined || accept(outcome.result)) return outcome.result;
          refused ??= outcome;
          continue;
        }
        last = outcome.error;
        if (last.kind === 'aborted') throw last;
        note(endpoint, !outcome.sick);
        if (!outcome.next && accept === undefined) throw last;
      }
      if (refused !== null) return refused.result;
      throw last ?? new RpcError('unreachable', 0, 'No endpoint was tried.');
    },
  };
}
