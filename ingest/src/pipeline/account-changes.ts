import { setTimeout as pause } from 'node:timers/promises';
import { isLate } from '@sluice/shared/solana/slots.ts';
import { decodeTokenAccount } from '@sluice/shared/solana/tokens/token-account.ts';
import { reservesOfVaults, stateOfReserves } from '@sluice/venues/kit/constant-product.ts';
import type { PoolAccount, PoolReserves, PriceState, Venue, VenueAccount } from '@sluice/venues/seam/venue.ts';
import { Recent } from '@sluice/shared/runtime/collections/recent.ts';
import type { AccountFetcher, FetchedAccount } from '../sources/rpc/account-fetcher.ts';
import type { AccountState } from '../sources/sighting.ts';
import type { Emitter } from './emit.ts';
import type { Pool, PoolBook } from './pools.ts';

/**
 * An account shows the state at the end of its slot, and may arrive before the logs of the trades that led there. It waits this long, so that
 * trades report their own prices, and an account only what no trade has shown.
 */
const accountHoldMs = 250;
/** Changes that wait, one for each pool (the newest). Above this limit, the oldest are released early. */
const maxHeld = 50_000;
/** Pools whose vaults are being read. Above this limit, a change is not published, and counted. */
const maxReads = 100;
const readAttempts = 4;
const readPauseMs = 300;
/** Curves whose coin is being looked up. Above this limit, a change is not published, and counted; the next trade names the coin. */
const maxLookUps = 8;
/** Curves whose coin was not found, and how long they are not looked up again. */
const maxNameless = 10_000;
const namelessForMs = 600_000;

/** State of a changed account. */
interface AccountChange {
  readonly pool: Pool;
  readonly state: AccountState;
  readonly account: VenueAccount;
}

/**
 * Publishes as prices what accounts show and no trade has shown. Changed accounts are held back, so that trades come first. A curve's account shows its reserves. A pool's account shows only the
 * virtual part, so its vaults are read too. A curve's account does not name its coin, but the curve's token account does.
 */
export class AccountChanges {
  readonly #book: PoolBook;
  readonly #emitter: Emitter;
  readonly #accounts: AccountFetcher;
  readonly #held = new Map<string, AccountChange & { readonly atMs: number }>();
  readonly #nameless = new Recent<number>(maxNameless);
  readonly #busy = new Set<string>();
  #reads = 0;
  #lookUps = 0;

  constructor(parts: { readonly book: PoolBook; readonly emitter: Emitter; readonly accounts: AccountFetcher }) {
    this.#book = parts.book;
    this.#emitter = parts.emitter;
    this.#accounts = parts.accounts;
  }

  /** Accounts that are being read. */
  get reads(): number {
    return this.#busy.size;
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
      if (!isAccountPublished(held)) this.#publish(held);
    }
  }

  #publish({ pool, state, account }: AccountChange): void {
    if (account.type === 'pool' && account.price !== null) this.#emitter.account(pool, state, account.price);
    else if (account.type === 'pool') void this.#publishPool(pool, account, state.slot);
    else if (pool.token !== null) this.#emitter.account(pool, state, stateOfReserves(account.reserves));
    else void this.#publishNameless(pool, state, account.reserves);
  }

  async #publishPool(pool: Pool, account: PoolAccount, slot: number): Promise<void> {
    const known = pool.token?.decimals != null && pool.quote?.decimals != null;
    if (!known || this.#reads >= maxReads || this.#busy.has(pool.address)) {
      this.#emitter.counts.unpublishedChanges++;
      return;
    }
    this.#reads++;
    this.#busy.add(pool.address);
    const wasPublished = await this.#readPool(pool, account, slot);
    this.#reads--;
    this.#busy.delete(pool.address);
    if (!wasPublished) this.#emitter.counts.unpublishedChanges++;
  }

  /** Pool and vaults in one answer, so that they are of one slot, and not of one before the change. False if there is none. */
  async #readPool(pool: Pool, { baseVault, quoteVault }: PoolAccount, changedSlot: number): Promise<boolean> {
    const addresses = [pool.address, baseVault, quoteVault];
    const read = await this.#readSince(changedSlot, addresses);
    const [own, base, quote] = read.map((account) => (account.kind === 'found' ? account.state : null));
    if (own == null || base == null || quote == null || base.slot !== own.slot || quote.slot !== own.slot) return false;
    if (own.slot < changedSlot) return false;
    const outcome = own.owner === pool.venue.programId ? pool.venue.decodeAccount(own.data) : null;
    if (outcome?.kind !== 'decoded' || outcome.account.type !== 'pool') return false;
    const owner = outcome.account.vaultOwner ?? pool.address;
    const [realBase, realQuote] = [balanceOf(base, owner), balanceOf(quote, owner)];
    if (realBase === null || realQuote === null) return false;
    const shown = stateOfReserves(reservesOfVaults(outcome.account, realBase, realQuote));
    if (!isPublished(pool, own.slot, shown)) this.#emitter.account(pool, own, shown);
    return true;
  }

  /** The endpoint may be some slots behind the one that reported the change. */
  async #readSince(slot: number, addresses: readonly string[]): Promise<readonly FetchedAccount[]> {
    const isSince = (state: AccountState): boolean => state.slot >= slot;
    for (let attempt = 1; ; attempt++) {
      const read = await Promise.all(addresses.map((address) => this.#accounts.fetch(address, isSince)));
      if (attempt === readAttempts || read.every((account) => account.kind === 'found' && isSince(account.state))) return read;
      await pause(readPauseMs, undefined, { ref: false });
    }
  }

  async #publishNameless(pool: Pool, state: AccountState, reserves: PoolReserves): Promise<void> {
    const untilMs = this.#nameless.get(pool.address);
    const refused = this.#lookUps >= maxLookUps || (untilMs !== undefined && performance.now() < untilMs);
    if (refused || this.#busy.has(pool.address)) {
      this.#emitter.counts.unpublishedChanges++;
      return;
    }
    this.#lookUps++;
    this.#busy.add(pool.address);
    await this.#nameCoin(pool.venue, pool.address);
    this.#lookUps--;
    this.#busy.delete(pool.address);
    if (pool.token === null) this.#nameless.set(pool.address, performance.now() + namelessForMs);
    const shown = stateOfReserves(reserves);
    if (!isPublished(pool, state.slot, shown)) this.#emitter.account(pool, state, shown);
  }

  /**
   * The coin is the one whose curve has this address. Anyone can send other coins to a curve, but the address of a curve follows from its
   * coin.
   */
  async #nameCoin(venue: Venue, address: string): Promise<void> {
    const mints = await this.#accounts.mintsOf(address);
    const mint = mints.find((candidate) => venue.derivedPools(candidate).some((derived) => derived.address === address));
    if (mint !== undefined) this.#book.learnCoin(venue, address, mint);
  }
}

/** Raw amount of a token account of `owner`; null if it is no such account. */
function balanceOf({ owner: program, data }: AccountState, owner: string): bigint | null {
  const account = decodeTokenAccount(program, data);
  return account?.owner === owner ? account.amount : null;
}

/** A pool's account does not show its reserves, so nothing is looked up after a price of the same slot. */
function isAccountPublished({ pool, state, account }: AccountChange): boolean {
  return account.type === 'curve'
    ? isPublished(pool, state.slot, stateOfReserves(account.reserves))
    : pool.tickSlot === state.slot || isLate(state.slot, pool.tickSlot);
}

/** Whether the last price of a pool is newer than this state, or the same. */
function isPublished(pool: Pool, slot: number, { priceBase, priceQuote }: PriceState): boolean {
  return isLate(slot, pool.tickSlot) || (pool.tickBase === priceBase && pool.tickQuote === priceQuote);
}
