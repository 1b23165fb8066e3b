import { stateOfReserves } from '@sluice/venues/kit/constant-product.ts';
import type { PriceState, VenueAccount } from '@sluice/venues/seam/venue.ts';
import { isLate } from '@sluice/shared/solana/slots.ts';
import type { AccountState } from '../sources/sighting.ts';
import type { Pool } from './pools.ts';

/**
 * An account shows the state at the end of its slot, and may arrive before the logs of the trades that led there. It waits this long, so that
 * trades report their own prices, and an account only what no trade has shown.
 */
const accountHoldMs = 250;
/** Changes that wait, one for each pool (the newest). Above this limit, the oldest are released early. */
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
  readonly #onUnpublished: (change: AccountChange) => void;

  /** `onUnpublished` is called with changes that no trade has shown. */
  constructor(onUnpublished: (change: AccountChange) => void) {
    this.#onUnpublished = onUnpublished;
  }

  get size(): number {
    return this.#held.size;
  }

  hold(change: AccountChange): void {
    const { pool, state } = change;
    const before = this.#held.get(pool.address);
    if (before !== undefined && isLate(state.slot, before.state.slot)) return;
    if (isAccountPublished(change)) {
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
      if (!isAccountPublished(held)) this.#onUnpublished(held);
    }
  }
}

/** A pool's account does not show its reserves, so nothing is looked up after a price of the same slot. */
function isAccountPublished({ pool, state, account }: AccountChange): boolean {
  return account.type === 'curve'
    ? isPublished(pool, state.slot, stateOfReserves(account.reserves))
    : pool.tickSlot === state.slot || isLate(state.slot, pool.tickSlot);
}

/** Whether the last price of a pool is newer than this state, or the same. */
export function isPublished(pool: Pool, slot: number, { priceBase, priceQuote }: PriceState): boolean {
  return isLate(slot, pool.tickSlot) || (pool.tickBase === priceBase && pool.tickQuote === priceQuote);
}
