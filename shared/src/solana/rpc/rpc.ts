import type { Abortable } from '../../runtime/abort/when-aborted.ts';
import { parseAnswer, type BlockReader } from './answers/large-answers.ts';
import { answerLimit } from './answers/limits.ts';
import { nodeTextOf, shownText, type NodeText } from './answers/node-text.ts';
import { suspensionOf, type EndpointSuspension, type ImpossibleAnswer } from './answers/suspensions.ts';
import { createJsonPost, type JsonPost } from './json-post.ts';

/** How long an endpoint that failed is tried after the others; doubled with each failure in a row. */
const firstPenaltyMs = 500;
const maxPenaltyMs = 30_000;

/**
 * `answer`: the node answered with a JSON-RPC error; `code`, `message` and `data` are the node's. `unreachable`: no endpoint gave a usable
 * answer (connection, timeout, HTTP status). `malformed`: the last one returned something that is not a JSON-RPC answer. `aborted`: the
 * caller's signal fired. `code` is 0 for the last three.
 */
export type RpcErrorKind = 'answer' | 'unreachable' | 'malformed' | 'aborted';

export class RpcError extends Error {
  readonly kind: RpcErrorKind;
  readonly code: number;
  /** Not an own property, because logs show those, and a node can make it as long as an answer. */
  readonly #data: unknown;

  /** `message` may come from a node; only the beginning of a long one is stored. */
  constructor(kind: RpcErrorKind, code: number, message: string, data: unknown = null) {
    super(shownText(message));
    this.name = 'RpcError';
    this.kind = kind;
    this.code = code;
    this.#data = data;
  }

  get data(): unknown {
    return this.#data;
  }
}

export interface Rpc {
  /**
   * The `result` of one call. Throws RpcError. With `accept`, the endpoints are asked in turn until `accept` returns true for a result; if
   * it never does, the first result is returned. With `keep`, a block is returned with only the transactions of these signatures and addresses, as
   * `reader` reads them.
   */
  call(
    method: string,
    params: readonly unknown[],
    signal?: Abortable,
    accept?: (result: unknown) => boolean | Promise<boolean>,
    keep?: ReadonlySet<string>,
    reader?: BlockReader,
  ): Promise<unknown>;
}

/** How one endpoint is doing, for monitoring. */
export interface EndpointHealth {
  readonly calls: number;
  /** Calls without a usable answer, or with an answer that reports an unhealthy node. */
  readonly failures: number;
  /** Its last call failed, so others are tried before it; or it is suspended. */
  readonly avoided: boolean;
  /** Answers that were too long for their method, or nested too deeply, over all clients of this process. */
  readonly impossibleAnswers: number;
  /** Milliseconds until the suspension after such an answer ends; 0 if it is not suspended. */
  readonly suspendedForMs: number;
}

export interface WatchedRpc extends Rpc {
  /** In the order of the settings. */
  health(): readonly EndpointHealth[];
}

export interface RpcPool extends WatchedRpc {
  /** Each endpoint on its own, so that answers can be compared. They share health and connections with the pool. */
  readonly each: readonly WatchedRpc[];
}

/** Errors about the request itself: every node would return them. Any other error may be specific to the node or to its provider. */
const requestFaults: ReadonlySet<number> = new Set([
  -32700, // the request is not JSON
  -32600, // invalid request
  -32602, // invalid params
  -32002, // the simulation before sending failed
  -32003, // a signature does not verify
  -32006, // a precompile refused its instruction
  -32013, // signatures of the wrong number
]);

/** Errors of an unhealthy node. It is tried after the others for a while. */
const sickness: ReadonlySet<number> = new Set([
  -32005, // node is unhealthy or behind
  -32016, // minimum context slot not reached
  -32603, // internal error
]);

interface Endpoint {
  readonly post: JsonPost;
  /** Hides what the endpoint's address must keep secret. */
  readonly textOf: NodeText;
  readonly suspension: EndpointSuspension;
  calls: number;
  failed: number;
  /** In a row. */
  failures: number;
  notBeforeMs: number;
}

/** `next`: another endpoint may do better. `sick`: do not use this endpoint for a while. */
interface FailedAttempt {
  readonly ok: false;
  readonly error: RpcError;
  readonly next: boolean;
  readonly sick: boolean;
}

type Attempt = { readonly ok: true; readonly result: unknown } | FailedAttempt;

function failed(kind: RpcErrorKind, message: string): FailedAttempt {
  return { ok: false, error: new RpcError(kind, 0, message), next: kind !== 'aborted', sick: kind !== 'aborted' };
}

function readAnswer(answer: unknown, id: number, textOf: NodeText): Attempt {
  if (typeof answer !== 'object' || answer === null) return failed('malformed', 'The answer is not an object.');
  const { id: answeredId, result, error } = answer as Record<string, unknown>;
  if (typeof error === 'object' && error !== null) {
    const { code, message, data } = error as Record<string, unknown>;
    const number = typeof code === 'number' ? code : 0;
    const rpcError = new RpcError(
      'answer',
      number,
      typeof message === 'string' ? textOf(message) : 'The node gave an error without a message.',
      data ?? null,
    );
    return { ok: false, error: rpcError, next: !requestFaults.has(number), sick: sickness.has(number) };
  }
  if (answeredId !== id || result === undefined) return failed('malformed', 'The answer has neither a result nor an error, or another id.');
  return { ok: true, result };
}

function describeImpossible({ method, what }: Pick<ImpossibleAnswer, 'method' | 'what'>): string {
  const fault = what === 'too_long' ? `longer than ${answerLimit(method).bytes} bytes` : 'nested too deeply';
  return `The answer to ${method} is ${fault}.`;
}

/** One call, in a form for any endpoint. */
interface Question {
  readonly id: number;
  readonly method: string;
  readonly body: string;
  readonly timeoutMs: number;
  readonly signal: Abortable | undefined;
  readonly keep: ReadonlySet<string> | undefined;
  readonly reader: BlockReader | undefined;
}

async function attempt(endpoint: Endpoint, { id, method, body, timeoutMs, signal, keep, reader }: Question): Promise<Attempt> {
  const { post, textOf, suspension } = endpoint;
  const limit = answerLimit(method);
  const suspend = (what: ImpossibleAnswer['what']): Attempt => {
    if (limit.isFixed || what === 'too_deep') suspension.suspend(method, what, performance.now());
    return { ...failed('malformed', describeImpossible({ method, what })), sick: limit.isFixed };
  };
  const answered = await post(body, { timeoutMs, maxAnswerBytes: limit.bytes }, signal);
  switch (answered.kind) {
    case 'aborted':
      return failed('aborted', 'The call was aborted.');
    case 'late':
      return failed('unreachable', `No answer within ${timeoutMs} ms.`);
    case 'too_long':
      return suspend('too_long');
    case 'failed':
      return failed('unreachable', textOf(answered.reason));
    case 'answered': {
      const parsing = parseAnswer(answered.bytes, keep, reader);
      const parsed = parsing instanceof Promise ? await parsing : parsing;
      if (parsed.kind === 'too_deep') return suspend('too_deep');
      if (parsed.kind === 'busy') return { ...failed('unreachable', 'Too many long answers are being read.'), sick: false };
      const answer = parsed.kind === 'parsed' ? readAnswer(parsed.answer, id, textOf) : failed('malformed', 'The answer is not JSON.');
      if (answered.status >= 200 && answered.status < 300) return answer;
      // Some providers send JSON-RPC errors with HTTP 4xx. If the body is one, it is more precise than the status.
      return !answer.ok && answer.error.kind === 'answer'
        ? { ...answer, next: true, sick: true }
        : failed('unreachable', `HTTP status ${answered.status}.`);
    }
  }
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

/** Moves endpoints whose last call failed to the end. */
function byHealth(endpoints: readonly Endpoint[]): readonly Endpoint[] {
  if (endpoints.length === 1) return endpoints;
  const nowMs = performance.now();
  const rank = (endpoint: Endpoint): number => Math.max(0, endpoint.notBeforeMs - nowMs);
  return [...endpoints].sort((a, b) => rank(a) - rank(b));
}

function healthOf({ calls, failed: failures, notBeforeMs, suspension }: Endpoint): EndpointHealth {
  const nowMs = performance.now();
  return {
    calls,
    failures,
    avoided: notBeforeMs > nowMs || suspension.isSuspended(nowMs),
    impossibleAnswers: suspension.impossibleAnswers,
    suspendedForMs: suspension.remainingMs(nowMs),
  };
}

/** For a message that must reach every endpoint; the answers do not matter. */
const evenWhileSuspended = 'sendTransaction';

interface Calling {
  readonly timeoutMs: number;
  readonly hedgeAfterMs: number;
  readonly nextId: () => number;
}

interface Asked {
  readonly outcome: Attempt;
  readonly asking: Promise<Asked>;
}

/** Sends the question, and updates the endpoint's health, even if the caller no longer waits for the answer. */
function ask(endpoint: Endpoint, question: Question): Promise<Asked> {
  const asking: Promise<Asked> = attempt(endpoint, question).then((outcome) => {
    if (outcome.ok) note(endpoint, true);
    else if (outcome.error.kind !== 'aborted') note(endpoint, !outcome.sick);
    return { outcome, asking };
  });
  return asking;
}

/** The first answer to arrive; null if none arrives within this time. */
async function firstEnded(asked: ReadonlySet<Promise<Asked>>, withinMs: number): Promise<Asked | null> {
  if (!Number.isFinite(withinMs)) return await Promise.race(asked);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => (timer = setTimeout(() => resolve(null), withinMs)));
  return await Promise.race([...asked, late]).finally(() => clearTimeout(timer));
}

function rpcOver(endpoints: readonly Endpoint[], { timeoutMs, hedgeAfterMs, nextId }: Calling): WatchedRpc {
  return {
    health: () => endpoints.map(healthOf),
    async call(method, params, signal, accept, keep, reader) {
      const id = nextId();
      const body = JSON.stringify({ jsonrpc: '2.0', id, method, params });
      const question: Question = { id, method, body, timeoutMs, signal, keep, reader };
      const queue = [...byHealth(endpoints)];
      const asked = new Set<Promise<Asked>>();
      const askNext = (): void => {
        const nowMs = performance.now();
        for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
          if (method === evenWhileSuspended || !next.suspension.isSuspended(nowMs)) return void asked.add(ask(next, question));
        }
      };
      let last: RpcError | null = null;
      let refused: { readonly result: unknown } | null = null;
      for (;;) {
        if (signal?.aborted === true) throw new RpcError('aborted', 0, 'The call was aborted.');
        if (asked.size === 0) askNext();
        if (asked.size === 0) break;
        const ended = await firstEnded(asked, queue.length > 0 ? hedgeAfterMs : Infinity);
        if (ended === null) {
          askNext();
          continue;
        }
        asked.delete(ended.asking);
        const { outcome } = ended;
        if (outcome.ok) {
          const accepted = accept?.(outcome.result) ?? true;
          if (accepted === true || (accepted !== false && (await accepted))) return outcome.result;
          refused ??= outcome;
          continue;
        }
        last = outcome.error;
        if (last.kind === 'aborted' || (!outcome.next && accept === undefined)) throw last;
      }
      if (refused !== null) return refused.result;
      throw last ?? new RpcError('unreachable', 0, 'No endpoint is in use: all sent answers that were too long or nested too deeply.');
    },
  };
}

export interface RpcOptions {
  /** Time for one endpoint to answer. */
  readonly timeoutMs: number;
  readonly hedgeAfterMs?: number;
}

/**
 * JSON-RPC over HTTP to one or several endpoints of a cluster. They are tried in the order of their health: those whose last call failed
 * come last. A node's error is final only if it is about the request. No answer may be longer than `answerLimit`; an endpoint that sends a
 * longer one is not used for a while. Errors contain no URL, because it may contain a key.
 *
 * After `hedgeAfterMs` without an answer the next endpoint is asked too, and the first usable answer counts. This is for callers that must
 * be quick, because a slow node then costs one more call instead of a delay.
 */
export function createRpc(urls: readonly string[], { timeoutMs, hedgeAfterMs = Infinity }: RpcOptions): RpcPool {
  if (urls.length === 0) throw new RangeError('At least one RPC endpoint is needed.');
  const endpoints: Endpoint[] = urls.map((url) => ({
    post: createJsonPost(url),
    textOf: nodeTextOf(url),
    suspension: suspensionOf(url),
    calls: 0,
    failed: 0,
    failures: 0,
    notBeforeMs: 0,
  }));
  let lastId = 0;
  const calling: Calling = { timeoutMs, hedgeAfterMs, nextId: () => ++lastId };
  return { ...rpcOver(endpoints, calling), each: endpoints.map((endpoint) => rpcOver([endpoint], calling)) };
}
