import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { valuedCoins, type QuoteCoin } from '@sluice/shared/wire/values/money.ts';
import { quotient } from '@sluice/shared/solana/encoding/amounts.ts';
import { isRecord, isSlot } from '@sluice/shared/solana/encoding/json-forms.ts';
import type { Rpc } from '@sluice/shared/solana/rpc/rpc.ts';
import { usdcMint, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { venueByProgram } from '@sluice/venues/registry.ts';
import type { PoolAccount } from '@sluice/venues/seam/venue.ts';
import { nowUs } from '@sluice/shared/runtime/clock/now-us.ts';
import { isLate, maxLateSlots } from '@sluice/shared/solana/slots.ts';
import { readAccount } from '../sources/rpc/read-account.ts';
import type { AccountState } from '../sources/sighting.ts';

/** A price of SOL, or of another quote coin. */
export interface SolUsd {
  /** USD (USDC) for one SOL; of another coin, in its unit. */
  readonly price: number;
  readonly slot: number;
  /** When it was received, Unix milliseconds. */
  readonly atMs: number;
}

/** A pool without trades causes no account change. Its account is requested after this time. */
const refreshAfterMs = 20_000;
/** An older price of a pool is not used. */
export const solUsdStaleAfterMs = 60_000;
/** The SOL/USD price that was used for an event, with its age. */
export interface SolUsdAt {
  readonly price: number;
  readonly slot: number;
  readonly ageMs: number;
}

/** The SOL/USD price with its age at `atMs`; null if there is none or it is too old. */
export function solUsdAt(solUsd: SolUsd | null, atMs: number): SolUsdAt | null {
  if (solUsd === null) return null;
  const ageMs = Math.max(0, Math.round(atMs - solUsd.atMs));
  return ageMs > solUsdStaleAfterMs ? null : { price: solUsd.price, slot: solUsd.slot, ageMs };
}

/** Prices of two pools agree if they differ by at most this part. The fees of pools keep their prices this near to each other. */
const agreeWithin = 0.02;

/** What a pool says about one coin: its price in whole coins of `measure`, which is money. */
interface CoinPrice {
  readonly coin: QuoteCoin;
  readonly measure: QuoteCoin;
  readonly price: number;
}

/** What the account of a pool says about a coin; null if it is no such pool or has no liquidity. */
export function coinPriceOf({ owner, data }: Pick<AccountState, 'owner' | 'data'>): CoinPrice | null {
  const decoded = venueByProgram.get(owner)?.decodeAccount(data);
  return decoded?.kind === 'decoded' && decoded.account.type === 'pool' ? coinPrice(decoded.account) : null;
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
 * The price of SOL in USDC, or of another quote coin in one of the two, from a pool with this pair in either order, correctly rounded; null for
 * another pair, or without a price or liquidity.
 */
export function coinPrice({ baseMint, quoteMint, price }: Pick<PoolAccount, 'baseMint' | 'quoteMint' | 'price'>): CoinPrice | null {
  if (price === null || price.depth === 0n || price.priceBase <= 0n || price.priceQuote <= 0n) return null;
  const measure = valuedCoins.get([usdcMint, wrappedSolMint].find((mint) => mint === baseMint || mint === quoteMint) ?? '');
  const isBase = measure?.mint === quoteMint;
  const coin = valuedCoins.get(isBase ? baseMint : quoteMint);
  if (measure === undefined || coin === undefined || coin === measure) return null;
  const [measures, coins] = isBase ? [price.priceQuote, price.priceBase] : [price.priceBase, price.priceQuote];
  return { coin, measure, price: quotient(measures * 10n ** BigInt(coin.decimals), coins * 10n ** BigInt(measure.decimals)) };
}

/** What is known of one pool. */
interface PricePoolState {
  readonly address: string;
  /** What its account said last. */
  shown: CoinPrice | null;
  /** Null until the pool was seen. The simulated chain does not have all of them. */
  last: SolUsd | null;
  /** When `last` was received, by the steady clock. */
  takenAtMs: number;
}

/** Maintains the prices of SOL and of other quote coins: from account changes of all endpoints, and by a request at the start and after silence. */
export class SolUsdFeed {
  /** Null if too few pools agree. */
  current: SolUsd | null = null;
  /** The prices of other coins, each in its unit. Null if too few of its pools agree, or are young enough. */
  readonly coins = new Map<string, SolUsd | null>();
  /** Answers and notifications that were not a pool's state. */
  refused = 0;
  readonly #rpc: Rpc;
  readonly #log: Logger;
  readonly #signal: AbortSignal;
  readonly #pools: readonly PricePoolState[];
  readonly #byAddress: ReadonlyMap<string, PricePoolState>;
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #asking = false;

  constructor(rpc: Rpc, addresses: readonly string[], log: Logger, signal: AbortSignal) {
    this.#pools = addresses.map((address) => ({ address, shown: null, last: null, takenAtMs: Number.NEGATIVE_INFINITY }));
    this.#byAddress = new Map(this.#pools.map((pool) => [pool.address, pool]));
    this.#rpc = rpc;
    this.#log = log;
    this.#signal = signal;
  }

  has(address: string): boolean {
    return this.#byAddress.has(address);
  }

  /** A slot far ahead of a price that was just received is invalid. One far behind it shows that the price's own slot was invalid. */
  take(state: AccountState): void {
    const pool = this.#byAddress.get(state.address);
    const shown = coinPriceOf(state);
    const atMs = Math.round(state.receivedUs / 1000);
    const fresh = pool?.last != null && atMs - pool.last.atMs < refreshAfterMs ? pool.last : null;
    if (pool === undefined || shown === null || (fresh !== null && state.slot - fresh.slot > maxLateSlots)) {
      this.refused++;
      return;
    }
    if (fresh !== null && isLate(state.slot, fresh.slot)) return;
    pool.shown = shown;
    pool.last = { price: shown.price, slot: state.slot, atMs };
    pool.takenAtMs = performance.now();
    if (shown.coin.mint === wrappedSolMint) this.current = agreedPrice(this.pools);
    else this.#agree(shown.coin);
  }

  /** The price of a coin, from at least two pools. Those that price it in the other unit count with the price of SOL, if that is known. */
  #agree({ mint, unit }: QuoteCoin): void {
    const solUsd = this.current?.price ?? null;
    const prices = this.#pools.flatMap(({ shown, last }): SolUsd[] => {
      if (shown?.coin.mint !== mint || last === null) return [];
      if (shown.measure.unit === unit) return [last];
      return solUsd === null ? [] : [{ ...last, price: unit === 'usd' ? last.price * solUsd : last.price / solUsd }];
    });
    this.coins.set(mint, prices.length < 2 ? null : agreedPrice(prices));
  }

  /** Time since the current price was received. */
  get ageMs(): number {
    const pool = this.#pools.find(({ last }) => last !== null && last.atMs === this.current?.atMs && last.price === this.current.price);
    return Math.round(performance.now() - (pool?.takenAtMs ?? Number.NEGATIVE_INFINITY));
  }

  /** The last price of each pool of SOL and USDC that has one. */
  get pools(): readonly (SolUsd & { readonly address: string })[] {
    return this.#pools.flatMap(({ address, shown, last }) =>
      last === null || shown?.coin.mint !== wrappedSolMint ? [] : [{ address, ...last }],
    );
  }

  /** Requests the accounts of the pools after a silence. Called once a second. */
  refresh(): void {
    const nowMs = performance.now();
    for (const [mint, rate] of this.coins) {
      if (rate !== null && solUsdAt(rate, nowUs() / 1000) === null) this.coins.set(mint, null);
    }
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
