import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { quoteCoins } from '@sluice/shared/wire/values/money.ts';
import { quotient } from '@sluice/shared/solana/encoding/amounts.ts';
import { isRecord, isSlot } from '@sluice/shared/solana/encoding/json-forms.ts';
import type { Rpc } from '@sluice/shared/solana/rpc/rpc.ts';
import { solDecimals, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { solPricePool } from '@sluice/venues/registry.ts';
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

const pricingVenue = solPricePool.venue;

/** USD for one SOL by the state of the pool that gives this price; null if the account is not such a pool or has no liquidity. */
export function solUsdOf(state: AccountState): number | null {
  if (state.owner !== pricingVenue.programId) return null;
  const decoded = pricingVenue.decodeAccount(state.data);
  return decoded.kind === 'decoded' && decoded.account.type === 'pool' ? usdPerSol(decoded.account) : null;
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

/** Maintains the SOL/USD price: from account changes of all endpoints, and by a request at the start and after silence. */
export class SolUsdFeed {
  current: SolUsd | null = null;
  /** Answers and notifications that were not the pool's state. */
  refused = 0;
  readonly #rpc: Rpc;
  readonly #log: Logger;
  readonly #signal: AbortSignal;
  /** By the steady clock. */
  #takenAtMs = Number.NEGATIVE_INFINITY;
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #asking = false;

  constructor(rpc: Rpc, log: Logger, signal: AbortSignal) {
    this.#rpc = rpc;
    this.#log = log;
    this.#signal = signal;
  }

  /** A slot far ahead of a price that was just received is invalid. One far behind it shows that the price's own slot was invalid. */
  take(state: AccountState): void {
    const price = solUsdOf(state);
    const atMs = Math.round(state.receivedUs / 1000);
    const fresh = this.current !== null && atMs - this.current.atMs < refreshAfterMs ? this.current : null;
    if (price === null || (fresh !== null && state.slot - fresh.slot > maxLateSlots)) {
      this.refused++;
      return;
    }
    if (fresh !== null && isLate(state.slot, fresh.slot)) return;
    this.current = { price, slot: state.slot, atMs };
    this.#takenAtMs = performance.now();
  }

  /** Time since the price was received. */
  get ageMs(): number {
    return Math.round(performance.now() - this.#takenAtMs);
  }

  /** Requests the pool's account after a silence. Called once a second. */
  refresh(): void {
    const nowMs = performance.now();
    const afterMs = this.current === null ? 1000 : refreshAfterMs;
    if (this.#asking || nowMs - Math.max(this.#takenAtMs, this.#askedAtMs) < afterMs) return;
    this.#asking = true;
    this.#askedAtMs = nowMs;
    void this.ask().finally(() => {
      this.#asking = false;
    });
  }

  async ask(): Promise<void> {
    try {
      const answer = await this.#rpc.call(
        'getAccountInfo',
        [solPricePool.address, { encoding: 'base64', commitment: 'processed' }],
        this.#signal,
      );
      const slot = isRecord(answer) && isRecord(answer['context']) ? answer['context']['slot'] : null;
      const state = isRecord(answer) && isSlot(slot) ? readAccount(solPricePool.address, answer['value'], slot, nowUs()) : null;
      if (state === null) this.refused++;
      else this.take(state);
    } catch (error) {
      if (!this.#signal.aborted) this.#log.warn({ err: error }, 'sol_usd_unavailable');
    }
  }
}
