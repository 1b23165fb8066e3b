import { curveOf } from '../programs/addresses.ts';

export interface CoinBounds {
  /** Coins traded on their curve. When a new coin comes, the oldest retires. */
  readonly onCurve: number;
  /** The same for coins traded on a pool. */
  readonly onPool: number;
  /** Retired coins whose accounts remain. With more, the accounts of the oldest are removed. */
  readonly retired: number;
}

/** 150 coins are about six minutes of the default rate, 2,000 about 80 minutes. */
export const defaultCoinBounds: CoinBounds = { onCurve: 150, onPool: 50, retired: 2_000 };

/**
 * Coins that outsiders hold do not retire, up to this many in each list. With more, the oldest stay on the chain, but the market forgets
 * them.
 */
const maxSpared = 200;

export interface Coin {
  readonly mint: string;
  readonly tokenProgram: string;
  /** Null for SOL. */
  readonly quoteMint: string | null;
  readonly curve: string;
  readonly createdSlot: number;
  /** Numbers of the wallets that bought and have not sold everything. */
  readonly holders: Set<number>;
  pool: string | null;
  /** Slot in which the market saw the curve complete. */
  completedSlot: number | null;
  migrationSent: boolean;
}

export function newCoin(mint: string, tokenProgram: string, quoteMint: string | null, createdSlot: number): Coin {
  const state = { pool: null, completedSlot: null, migrationSent: false };
  return { mint, tokenProgram, quoteMint, curve: curveOf(mint), createdSlot, holders: new Set(), ...state };
}

/** The market's coins, bounded: traded on curves, traded on pools, retired. */
export class CoinBook {
  readonly onCurve: Coin[] = [];
  readonly onPool: Coin[] = [];
  readonly #retired: Coin[] = [];
  readonly #bounds: CoinBounds;

  constructor(bounds: CoinBounds) {
    this.#bounds = bounds;
  }

  addCurve(coin: Coin): void {
    this.onCurve.push(coin);
  }

  moveToPool(coin: Coin, pool: string): void {
    coin.pool = pool;
    this.remove(coin);
    this.onPool.push(coin);
  }

  /** Forgets a coin that is no longer on the chain (its fork died). */
  remove(coin: Coin): void {
    for (const list of [this.onCurve, this.onPool]) {
      const at = list.indexOf(coin);
      if (at >= 0) list.splice(at, 1);
    }
  }

  /** Retires coins above the bounds, and returns the coins whose accounts may be removed. */
  trim(isHeldOutside: (coin: Coin) => boolean): readonly Coin[] {
    const unfinished = (coin: Coin): boolean => coin.completedSlot !== null && coin.pool === null;
    const stays = (coin: Coin): boolean => unfinished(coin) || isHeldOutside(coin);
    this.#retired.push(...takeOldest(this.onCurve, this.#bounds.onCurve, stays));
    this.#retired.push(...takeOldest(this.onPool, this.#bounds.onPool, stays));
    const gone = takeOldest(this.#retired, this.#bounds.retired, isHeldOutside);
    // Outsiders hold too many: the market forgets the oldest.
    this.#retired.splice(0, Math.max(0, this.#retired.length - this.#bounds.retired - maxSpared));
    return gone;
  }
}

/** Removes the oldest coins from a list until it has at most `max`. Coins that must stay do not count and are not removed. */
function takeOldest(list: Coin[], max: number, stays: (coin: Coin) => boolean): Coin[] {
  const taken: Coin[] = [];
  let spared = 0;
  for (let i = 0; list.length - spared > max;) {
    const coin = list[i];
    if (coin === undefined) break;
    if (spared < maxSpared && stays(coin)) {
      spared++;
      i++;
    } else {
      taken.push(coin);
      list.splice(i, 1);
    }
  }
  return taken;
}
