import type { PoolReserves } from '@sluice/shared/venues/venue.ts';
import type { AccountState } from '../sources/source.ts';
import type { Pool } from './pools.ts';

/**
 * An account shows the end of its slot, and may come before the logs of the trades that led there: it waits this long, so
 * that trades tell their own prices and an account only what no trade has told.
 */
const accountHoldMs = 250;
/** Changes that wait, one a pool (the newest); beyond it the oldest are looked at early. */
const maxHeld = 50_000;

interface Held {
  readonly pool: Pool;
  readonly state: AccountState;
  readonly reserves: PoolReserves;
  readonly atMs: number;
}

/** Reserves as accounts show them, held back until trades had their turn. */
export class AccountTicks {
  readonly #held = new Map<string, Held>();
  readonly #onTick: (pool: Pool, state: AccountState, reserves: PoolReserves) => void;

  constructor(onTick: (pool: Pool, state: AccountState, reserves: PoolReserves) => void) {
    this.#onTick = onTick;
  }

  get size(): number {
    return this.#held.size;
  }

  hold(pool: Pool, state: AccountState, reserves: PoolReserves): void {
    const before = this.#held.get(pool.address);
    if (before !== undefined && before.state.slot > state.slot) return;
    if (isTold(pool, state.slot, reserves)) {
      this.#held.delete(pool.address);
      return;
    }
    // A curve that changes with every slot is still told: its first wait counts.
    this.#held.set(pool.address, { pool, state, reserves, atMs: before?.atMs ?? performance.now() });
    if (this.#held.size > maxHeld) this.release(0);
  }

  /** Tells the changes that have waited long enough and that no trade has told. */
  release(holdMs = accountHoldMs): void {
    const untilMs = performance.now() - holdMs;
    for (const [address, { pool, state, reserves, atMs }] of this.#held) {
      if (atMs > untilMs) continue;
      this.#held.delete(address);
      if (!isTold(pool, state.slot, reserves)) this.#onTick(pool, state, reserves);
    }
  }
}

function isTold(pool: Pool, slot: number, reserves: PoolReserves): boolean {
  return pool.tickSlot > slot || (pool.tickBase === reserves.virtualBase && pool.tickQuote === reserves.virtualQuote);
}
