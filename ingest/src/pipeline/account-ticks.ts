import { stateOfReserves } from '@sluice/shared/venues/kit/constant-product.ts';
import type { PriceState, VenueAccount } from '@sluice/shared/venues/venue.ts';
import type { AccountState } from '../sources/sighting.ts';
import type { Pool } from './pools.ts';
import { isLate } from '@sluice/shared/solana/slots.ts';

/**
 * An account shows the end of its slot, and may come before the logs of the trades that led there: it waits this long, so
 * that trades tell their own prices and an account only what no trade has told.
 */
const accountHoldMs = 250;
/** Changes that wait, one a pool (the newest); beyond it the oldest are looked at early. */
const maxHeld = 50_000;

/** What an account showed when it changed. */
export interface AccountChange {
  readonly pool: Pool;
  readonly state: AccountState;
  readonly account: VenueAccount;
}

interface Held extends AccountChange {
  readonly atMs: number;
}

/** Accounts that changed, held back until trades had their turn. */
export class AccountTicks {
  readonly #held = new Map<string, Held>();
  readonly #onUntold: (change: AccountChange) => void;

  /** `onUntold` is given what no trade has told. */
  constructor(onUntold: (change: AccountChange) => void) {
    this.#onUntold = onUntold;
  }

  get size(): number {
    return this.#held.size;
  }

  hold(change: AccountChange): void {
    const { pool, state } = change;
    const before = this.#held.get(pool.address);
    if (before !== undefined && isLate(state.slot, before.state.slot)) return;
    if (isAccountTold(change)) {
      this.#held.delete(pool.address);
      return;
    }
    // A curve that changes with every slot is still told: its first wait counts.
    this.#held.set(pool.address, { atMs: before?.atMs ?? performance.now(), ...change });
    if (this.#held.size > maxHeld) this.release(0);
  }

  /** Tells the changes that have waited long enough and that no trade has told. */
  release(holdMs = accountHoldMs): void {
    const untilMs = performance.now() - holdMs;
    for (const [address, held] of this.#held) {
      if (held.atMs > untilMs) continue;
      this.#held.delete(address);
      if (!isAccountTold(held)) this.#onUntold(held);
    }
  }
}

/** A pool's account does not show its reserves: after a price of the same slot there is nothing to be looked up. */
function isAccountTold({ pool, state, account }: AccountChange): boolean {
  return account.type === 'curve'
    ? isTold(pool, state.slot, stateOfReserves(account.reserves))
    : pool.tickSlot === state.slot || isLate(state.slot, pool.tickSlot);
}

/** Whether the last price of a pool is newer than this state, or the same. */
export function isTold(pool: Pool, slot: number, { priceBase, priceQuote }: PriceState): boolean {
  return isLate(slot, pool.tickSlot) || (pool.tickBase === priceBase && pool.tickQuote === priceQuote);
}
