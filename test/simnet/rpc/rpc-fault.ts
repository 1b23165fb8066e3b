/** Error codes of JSON-RPC 2.0 and of an Agave node (`rpc-client-api/src/custom_error.rs`). */
export const rpcCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  preflightFailure: -32002,
  signatureVerification: -32003,
  blockNotAvailable: -32004,
  nodeUnhealthy: -32005,
  slotSkipped: -32009,
  unsupportedTransactionVersion: -32015,
  minContextSlot: -32016,
} as const;

/** An error answer; expected outcomes are values, nothing is thrown. */
export interface RpcFault {
  readonly ok: false;
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

export type RpcResult = { readonly ok: true; readonly value: unknown } | RpcFault;

export function fault(code: number, message: string, data?: unknown): RpcFault {
  return data === undefined ? { ok: false, code, message } : { ok: false, code, message, data };
}

export function invalidParams(message: string): RpcFault {
  return fault(rpcCodes.invalidParams, message);
}

export function answer(value: unknown): RpcResult {
  return { ok: true, value };
}
