import { curveOf } from '../programs/addresses.ts';

/** Coins traded on their curve; the oldest retires when a new one comes. 150 are about six minutes of the default rate. */
const maxOnCurve = 150;
/** Coins traded on a pool. */
const maxOnPool = 50;
/** Retired coins whose accounts stay readable. */
const maxRetired = 2_000;
/** Coins that outsiders hold are passed over when one retires, up to this many. */
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
    this.#retireFrom(this.onCurve, maxOnCurve, isHeldOutside);
    this.#retireFrom(this.onPool, maxOnPool, isHeldOutside);
    const gone: Coin[] = [];
    while (this.#retired.length > maxRetired) {
      const coin = this.#retired.shift();
      if (coin !== undefined && !isHeldOutside(coin)) gone.push(coin);
    }
    return gone;
  }

  #retireFrom(list: Coin[], max: number, isHeldOutside: (coin: Coin) => boolean): void {
    let spared = 0;
    for (let i = 0; i < list.length && list.length - spared > max;) {
      const coin = list[i];
      if (coin === undefined) break;
      if (spared < maxSpared && (isHeldOutside(coin) || (coin.completedSlot !== null && coin.pool === null))) {
        spared++;
        i++;
        continue;
      }
      list.splice(i, 1);
      this.#retired.push(coin);
    }
  }
}
