import { stateOfReserves } from '@sluice/shared/venues/kit/constant-product.ts';
import type { PriceState, VenueAccount } from '@sluice/shared/venues/venue.ts';
import type { AccountState } from '../sources/sighting.ts';
import type { Pool } from './pools.ts';
import { isLate } from '@sluice/shared/solana/slots.ts';

/**
 * An account shows the state at the end of its slot, and may arrive before the logs of the trades that led there. It waits this long, so that
 * trades report their own prices, and an account only what no trade has shown.
 */
const accountHoldMs = 250;
/** Changes that wait, one for each pool (the newest). Beyond it the oldest are released early. */
const maxHeld = 50_000;

/** State of a changed account. */
export interface AccountChange {
  readonly pool: Pool;
  readonly state: AccountState;
  readonly account: VenueAccount;
}

interface Held extends AccountChange {
  readonly atMs: number;
}

/** Changed accounts, held back so that trades come first. */
export class AccountTicks {
  readonly #held = new Map<string, Held>();
  readonly #onUntold: (change: AccountChange) => void;

  /** `onUntold` is called with changes that no trade has shown. */
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
    // The first wait counts, so that a curve that changes with every slot is still published.
    this.#held.set(pool.address, { atMs: before?.atMs ?? performance.now(), ...change });
    if (this.#held.size > maxHeld) this.release(0);
  }

  /** Releases changes that have waited long enough and that no trade has shown. */
  release(holdMs = accountHoldMs): void {
    const untilMs = performance.now() - holdMs;
    for (const [address, held] of this.#held) {
      if (held.atMs > untilMs) continue;
      this.#held.delete(address);
      if (!isAccountTold(held)) this.#onUntold(held);
    }
  }
}

/** A pool's account does not show its reserves, so nothing is looked up after a price of the same slot. */
function isAccountTold({ pool, state, account }: AccountChange): boolean {
  return account.type === 'curve'
    ? isTold(pool, state.slot, stateOfReserves(account.reserves))
    : pool.tickSlot === state.slot || isLate(state.slot, pool.tickSlot);
}

/** Whether the last price of a pool is newer than this state, or the same. */
export function isTold(pool: Pool, slot: number, { priceBase, priceQuote }: PriceState): boolean {
  return isLate(slot, pool.tickSlot) || (pool.tickBase === priceBase && pool.tickQuote === priceQuote);
}
