import { curveOf } from '../programs/addresses.ts';

export interface CoinBounds {
  /** Coins traded on their curve; the oldest retires when a new one comes. */
  readonly onCurve: number;
  /** Coins traded on a pool; likewise. */
  readonly onPool: number;
  /** Retired coins whose accounts stay; then those of the oldest go. */
  readonly retired: number;
}

/** 150 coins are about six minutes of the default rate, 2,000 about 80 minutes. */
export const defaultCoinBounds: CoinBounds = { onCurve: 150, onPool: 50, retired: 2_000 };

/** Coins that outsiders hold are passed over, up to this many in each list; what is beyond stays on the chain and is forgotten here. */
const maxSpared = 200;

export interface Coin {
  readonly mint: string;
  readonly tokenProgram: string;
  /** Null for SOL. */
  readonly quoteMint: string | null;
  readonly curve: string;
  readonly createdSlot: number;
  /** Wallets, by number, that bought and did not sell out. */
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

/** The market's coins, bounded: live on curves, live on pools, retired. */
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

  /** Retires what is too much, and answers the coins whose accounts may go. */
  trim(isHeldOutside: (coin: Coin) => boolean): readonly Coin[] {
    const unfinished = (coin: Coin): boolean => coin.completedSlot !== null && coin.pool === null;
    const stays = (coin: Coin): boolean => unfinished(coin) || isHeldOutside(coin);
    this.#retired.push(...takeOldest(this.onCurve, this.#bounds.onCurve, stays));
    this.#retired.push(...takeOldest(this.onPool, this.#bounds.onPool, stays));
    const gone = takeOldest(this.#retired, this.#bounds.retired, isHeldOutside);
    // Too many are held outside: the oldest are left to their holders.
    this.#retired.splice(0, Math.max(0, this.#retired.length - this.#bounds.retired - maxSpared));
    return gone;
  }
}

/** Takes the oldest that need not stay out of a list until it is no longer than `max`, those that stay not counted. */
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
