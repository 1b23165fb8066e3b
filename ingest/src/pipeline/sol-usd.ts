import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { quoteCoins } from '@sluice/shared/wire/values/money.ts';
import { quotient } from '@sluice/shared/solana/encoding/amounts.ts';
import { isRecord, isSlot } from '@sluice/shared/solana/encoding/json-forms.ts';
import type { Rpc } from '@sluice/shared/solana/rpc/rpc.ts';
import { solDecimals, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { solPricePools } from '@sluice/venues/registry.ts';
import type { PoolAccount } from '@sluice/venues/seam/venue.ts';
import { nowUs } from '@sluice/shared/runtime/clock/now-us.ts';
import { isLate, maxLateSlots } from '@sluice/shared/solana/slots.ts';
import { readAccount } from '../sources/rpc/read-account.ts';
import type { AccountState } from '../sources/sighting.ts';

export interface SolUsd {
  /** USD (USDC) for one SOL. */
  readonly price: number;
  readonly slot: number;
  /** When it was received, Unix milliseconds. */
  readonly atMs: number;
}

/** A pool without trades causes no account change. Its account is requested after this time. */
const refreshAfterMs = 20_000;
/** An older price of a pool is not used. */
export const solUsdStaleAfterMs = 60_000;
/** Prices of two pools agree if they differ by at most this part. The fees of pools keep their prices this near to each other. */
const agreeWithin = 0.02;

const venueAt = new Map(solPricePools.map(({ address, venue }) => [address, venue]));

/** USD for one SOL by the state of one of the pools that give this price; null if the account is not such a pool or has no liquidity. */
export function solUsdOf(state: AccountState): number | null {
  const venue = venueAt.get(state.address);
  if (venue === undefined || state.owner !== venue.programId) return null;
  const decoded = venue.decodeAccount(state.data);
  return decoded.kind === 'decoded' && decoded.account.type === 'pool' ? usdPerSol(decoded.account) : null;
}

/**
 * The price on which pools agree: the median of the pools whose price is not too old, if more than half of all known pools agree with it. So one
 * pool that somebody moves changes nothing, and pools that contradict each other give no price.
 */
export function agreedPrice(pools: readonly SolUsd[]): SolUsd | null {
  const newestMs = Math.max(...pools.map(({ atMs }) => atMs));
  const fresh = pools.filter(({ atMs }) => newestMs - atMs <= solUsdStaleAfterMs).toSorted((a, b) => a.price - b.price);
  const median = fresh[(fresh.length - 1) >> 1];
  if (median === undefined) return null;
  const agreeing = fresh.filter(({ price }) => Math.abs(price - median.price) <= median.price * agreeWithin);
  const { price, slot, atMs } = median;
  return agreeing.length * 2 > pools.length ? { price, slot, atMs } : null;
}

/**
 * USD for one SOL from a pool of SOL and a coin that is worth 1 USD, in either order, correctly rounded; null for another pair, or without
 * a price or liquidity.
 */
export function usdPerSol({ baseMint, quoteMint, price }: Pick<PoolAccount, 'baseMint' | 'quoteMint' | 'price'>): number | null {
  if (price === null || price.depth === 0n || price.priceBase <= 0n || price.priceQuote <= 0n) return null;
  const isBaseSol = baseMint === wrappedSolMint;
  const dollar = quoteCoins.get(isBaseSol ? quoteMint : baseMint);
  if (dollar?.unit !== 'usd' || (!isBaseSol && quoteMint !== wrappedSolMint)) return null;
  const [dollars, sol] = isBaseSol ? [price.priceQuote, price.priceBase] : [price.priceBase, price.priceQuote];
  return quotient(dollars * 10n ** BigInt(solDecimals), sol * 10n ** BigInt(dollar.decimals));
}

/** What is known of one pool. */
interface PricePoolState {
  readonly address: string;
  /** Null until the pool was seen. The simulated chain does not have all of them. */
  last: SolUsd | null;
  /** When `last` was received, by the steady clock. */
  takenAtMs: number;
}

/** Maintains the SOL/USD price: from account changes of all endpoints, and by a request at the start and after silence. */
export class SolUsdFeed {
  /** Null if too few pools agree. */
  current: SolUsd | null = null;
  /** Answers and notifications that were not a pool's state. */
  refused = 0;
  readonly #rpc: Rpc;
  readonly #log: Logger;
  readonly #signal: AbortSignal;
  readonly #pools: readonly PricePoolState[] = solPricePools.map(({ address }) => ({
    address,
    last: null,
    takenAtMs: Number.NEGATIVE_INFINITY,
  }));
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #asking = false;

  constructor(rpc: Rpc, log: Logger, signal: AbortSignal) {
    this.#rpc = rpc;
    this.#log = log;
    this.#signal = signal;
  }

  has(address: string): boolean {
    return venueAt.has(address);
  }

  /** A slot far ahead of a price that was just received is invalid. One far behind it shows that the price's own slot was invalid. */
  take(state: AccountState): void {
    const pool = this.#pools.find(({ address }) => address === state.address);
    const price = solUsdOf(state);
    const atMs = Math.round(state.receivedUs / 1000);
    const fresh = pool?.last != null && atMs - pool.last.atMs < refreshAfterMs ? pool.last : null;
    if (pool === undefined || price === null || (fresh !== null && state.slot - fresh.slot > maxLateSlots)) {
      this.refused++;
      return;
    }
    if (fresh !== null && isLate(state.slot, fresh.slot)) return;
    pool.last = { price, slot: state.slot, atMs };
    pool.takenAtMs = performance.now();
    this.current = agreedPrice(this.pools);
  }

  /** Time since the current price was received. */
  get ageMs(): number {
    const pool = this.#pools.find(({ last }) => last !== null && last.atMs === this.current?.atMs && last.price === this.current.price);
    return Math.round(performance.now() - (pool?.takenAtMs ?? Number.NEGATIVE_INFINITY));
  }

  /** The last price of each pool that has one. */
  get pools(): readonly (SolUsd & { readonly address: string })[] {
    return this.#pools.flatMap(({ address, last }) => (last === null ? [] : [{ address, ...last }]));
  }

  /** Requests the accounts of the pools after a silence. Called once a second. */
  refresh(): void {
    const nowMs = performance.now();
    const afterMs = this.current === null ? 1000 : refreshAfterMs;
    const oldestMs = Math.min(...this.#pools.flatMap(({ last, takenAtMs }) => (last === null ? [] : [takenAtMs])));
    if (this.#asking || nowMs - Math.max(this.current === null ? -Infinity : oldestMs, this.#askedAtMs) < afterMs) return;
    this.#asking = true;
    this.#askedAtMs = nowMs;
    void this.ask().finally(() => {
      this.#asking = false;
    });
  }

  async ask(): Promise<void> {
    try {
      const addresses = this.#pools.map(({ address }) => address);
      const answer = await this.#rpc.call(
        'getMultipleAccounts',
        [addresses, { encoding: 'base64', commitment: 'processed' }],
        this.#signal,
      );
      const slot = isRecord(answer) && isRecord(answer['context']) ? answer['context']['slot'] : null;
      const values = isRecord(answer) && Array.isArray(answer['value']) ? (answer['value'] as unknown[]) : [];
      const receivedUs = nowUs();
      for (const [index, pool] of this.#pools.entries()) {
        const state = isSlot(slot) ? readAccount(pool.address, values[index], slot, receivedUs) : null;
        if (state !== null) this.take(state);
        else if (values[index] !== null) this.refused++;
      }
    } catch (error) {
      if (!this.#signal.aborted) this.#log.warn({ err: error }, 'sol_usd_unavailable');
    }
  }
}
