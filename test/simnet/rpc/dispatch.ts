import type { RpcContext, RpcMethod } from './context.ts';
import { toJson } from './json.ts';
import { accountMethods } from './methods/accounts.ts';
import { clusterMethods } from './methods/cluster.ts';
import { historyMethods } from './methods/history.ts';
import { sendingMethods } from './methods/sending.ts';
import { Params } from './params.ts';
import { fault, rpcCodes, type RpcFault, type RpcResult } from './rpc-fault.ts';

const methods: ReadonlyMap<string, RpcMethod> = new Map(
  Object.entries({ ...clusterMethods, ...accountMethods, ...historyMethods, ...sendingMethods }),
);

export const methodNames: readonly string[] = [...methods.keys()];

type RpcId = string | number | null;

/** One request of JSON-RPC 2.0. `id` is undefined for a notification, which gets no answer. */
export interface RpcCall {
  readonly id: RpcId | undefined;
  readonly method: string;
  readonly params: readonly unknown[];
}

export function parseJson(text: string): { readonly ok: true; readonly value: unknown } | RpcFault {
  try {
    return { ok: true, value: JSON.parse(text) as unknown };
  } catch (error) {
    return fault(rpcCodes.parseError, error instanceof SyntaxError ? 'Parse error' : String(error));
  }
}

function readId(value: unknown): RpcId | undefined {
  return typeof value === 'string' || typeof value === 'number' || value === null ? value : undefined;
}

/** Reads one request object. A fault has the id for its answer. */
export function readCall(value: unknown): RpcCall | { readonly id: RpcId; readonly fault: RpcFault } {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { id: null, fault: fault(rpcCodes.invalidRequest, 'Invalid request') };
  }
  const request = value as Record<string, unknown>;
  const id = readId(request['id']);
  if (request['jsonrpc'] !== '2.0' || typeof request['method'] !== 'string' || (id === undefined && request['id'] !== undefined)) {
    return { id: id ?? null, fault: fault(rpcCodes.invalidRequest, 'Invalid request') };
  }
  const params = request['params'] ?? [];
  if (!Array.isArray(params)) return { id: id ?? null, fault: fault(rpcCodes.invalidParams, '`params` should be an array') };
  return { id, method: request['method'], params };
}

export function encodeAnswer(id: RpcId, result: RpcResult): string {
  if (result.ok) return toJson({ jsonrpc: '2.0', result: result.value, id });
  const { code, message, data } = result;
  return toJson({ jsonrpc: '2.0', error: data === undefined ? { code, message } : { code, message, data }, id });
}

function run(context: RpcContext, call: RpcCall): RpcResult {
  const method = methods.get(call.method);
  if (method === undefined) return fault(rpcCodes.methodNotFound, 'Method not found');
  const params = new Params(call.params);
  try {
    const result = method(context, params);
    return params.fault ?? result;
  } catch (error) {
    context.onBug(call.method, error);
    return fault(rpcCodes.internal, 'Internal error');
  }
}

function answerOne(context: RpcContext, value: unknown): string | null {
  const call = readCall(value);
  if ('fault' in call) return encodeAnswer(call.id, call.fault);
  const result = run(context, call);
  return call.id === undefined ? null : encodeAnswer(call.id, result);
}

/** Answers one HTTP body: a request, or a batch of them. Null if there is nothing to answer (only notifications). */
export function answerBody(context: RpcContext, body: unknown): string | null {
  if (!Array.isArray(body)) return answerOne(context, body);
  if (body.length === 0) return encodeAnswer(null, fault(rpcCodes.invalidRequest, 'Invalid request'));
  const answers = body.map((item: unknown) => answerOne(context, item)).filter((text) => text !== null);
  return answers.length === 0 ? null : `[${answers.join(',')}]`;
}

/** Methods that a body calls, for faults that affect some methods only. */
export function calledMethods(body: unknown): readonly string[] {
  const items: readonly unknown[] = Array.isArray(body) ? body : [body];
  return items.map((item) => (typeof item === 'object' && item !== null && 'method' in item ? String(item.method) : ''));
}
