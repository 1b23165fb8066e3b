import { RpcError } from '@sluice/shared/solana/rpc/rpc.ts';
import type { Halt } from '@sluice/gateway/store/halt/halt.ts';
import { StoreUnavailableError } from '@sluice/gateway/store/store-unavailable.ts';
import type { IdempotencyUse } from '@sluice/gateway/store/order-model/idempotency.ts';
import { ownerOf, type Owner } from '@sluice/gateway/store/order-model/owner.ts';
import type { KeyLocks } from './key-locks.ts';
import type { Refusal } from '../outcome.ts';

export const tradingOff: Refusal = {
  error: 'TRADING_HALTED',
  message: 'This server does not trade (TRADING is off).',
  retryAfterSeconds: 60,
};
export const halted: Refusal = { error: 'TRADING_HALTED', retryAfterSeconds: 1 };
const haltUnknown: Refusal = { ...halted, message: 'The store does not answer in time, so it is unknown whether trading is halted.' };
export const storeRefuses: Refusal = {
  error: 'UPSTREAM_UNAVAILABLE',
  message: 'The store accepts no orders at present, so nothing was signed.',
  retryAfterSeconds: 1,
};
export const tooManyOpen: Refusal = { error: 'UPSTREAM_UNAVAILABLE', message: 'Too many orders are open.', retryAfterSeconds: 1 };

/** Null if trading is not halted. */
export async function refusedByHalt(halt: Pick<Halt, 'status'>): Promise<Refusal | null> {
  const status = await halt.status();
  return status === 'running' ? null : status === 'halted' ? halted : haltUnknown;
}

/** The refusal for an error of a node or of the store. Rethrows any other error, which is a bug. */
export function refusalOf(error: unknown): Refusal {
  const message = error instanceof RpcError ? 'No node of the chain answers.' : 'The store does not answer.';
  if (error instanceof RpcError || error instanceof StoreUnavailableError)
    return { error: 'UPSTREAM_UNAVAILABLE', message, retryAfterSeconds: 1 };
  throw error;
}

/** Runs one call while it holds its `Idempotency-Key`. Another call of this process with the same key is refused meanwhile. */
export async function withKey<Result>(
  locks: KeyLocks,
  owner: Owner,
  use: IdempotencyUse | null,
  run: () => Promise<Result>,
): Promise<Result | Refusal> {
  const lock = locks.take(ownerOf(owner), use);
  if (lock.kind === 'busy') return { error: 'IDEMPOTENCY_IN_PROGRESS', retryAfterSeconds: 1 };
  if (lock.kind === 'other') return { error: 'IDEMPOTENCY_MISMATCH' };
  try {
    return await run();
  } catch (error) {
    return refusalOf(error);
  } finally {
    lock.release();
  }
}
