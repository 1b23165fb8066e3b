import { RpcError } from '@sluice/shared/solana/rpc/rpc.ts';
import type { Halt } from '@sluice/gateway/store/halt/halt.ts';
import { StoreUnavailableError } from '@sluice/gateway/store/store-unavailable.ts';
import { isSameRequest, ownerOf, type IdempotencyUse, type Owner } from '@sluice/gateway/store/order-model/order.ts';
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
function refusalOf(error: unknown): Refusal {
  const message = error instanceof RpcError ? 'No node of the chain answers.' : 'The store does not answer.';
  if (error instanceof RpcError || error instanceof StoreUnavailableError)
    return { error: 'UPSTREAM_UNAVAILABLE', message, retryAfterSeconds: 1 };
  throw error;
}

/** Runs work that needs a node or the store. Resolves with the refusal if it fails because of one of them. */
export async function orRefusal<Result>(work: () => Promise<Result>): Promise<Result | Refusal> {
  try {
    return await work();
  } catch (error) {
    return refusalOf(error);
  }
}

/** Most requests at a time with an `Idempotency-Key`. Another one is refused as busy. */
const maxLocks = 10_000;

/** The keys that requests of this gateway use now. The store does not know them until their orders are inserted. */
export class KeyLocks {
  readonly #held = new Map<string, IdempotencyUse>();

  /** Runs one call while it holds its `Idempotency-Key`. Another call of this process with the same key is refused meanwhile. */
  async run<Result>(owner: Owner, use: IdempotencyUse | null, work: () => Promise<Result>): Promise<Result | Refusal> {
    if (use === null) return orRefusal(work);
    const name = `${ownerOf(owner)}\n${use.key}`;
    const known = this.#held.get(name);
    if (known !== undefined && !isSameRequest(known, use)) return { error: 'IDEMPOTENCY_MISMATCH' };
    if (known !== undefined || this.#held.size >= maxLocks) return { error: 'IDEMPOTENCY_IN_PROGRESS', retryAfterSeconds: 1 };
    this.#held.set(name, use);
    return orRefusal(work).finally(() => this.#held.delete(name));
  }
}
