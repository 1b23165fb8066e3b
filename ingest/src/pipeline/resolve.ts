import { pause } from '@sluice/shared/abort/pause.ts';
import { token2022Program, tokenProgram } from '@sluice/shared/solana/well-known.ts';
import type { Venue, VenueTrade } from '@sluice/venues/venue.ts';
import { Recent } from '@sluice/shared/collections/recent.ts';
import type { AccountFetcher, FetchedAccount } from '../sources/rpc/account-fetcher.ts';
import type { AccountState } from '../sources/sighting.ts';
import type { Pool, PoolBook, Token } from './pools.ts';

/** Accounts to be read before events of a pool can be published. */
export interface Need {
  readonly pool: Pool;
  readonly addresses: readonly string[];
  /** The only address is the one that this trade `needs`. */
  readonly trade?: VenueTrade;
}

/** The endpoint may be some slots behind the one that reported the pool. */
const missingAttempts = 4;
const missingPauseMs = 300;
/** How long events of an account that is no pool are refused without another request. */
const hopelessForMs = 60_000;
/** How long events wait for any endpoint to answer. */
const unavailableWithinMs = 30_000;
const unavailablePauseMs = 1_000;
/** The same after that time. */
const unavailableForMs = 5_000;
const maxHopeless = 10_000;

// Layout of a mint, the same in both token programs.
const mintLength = 82;
const supplyAt = 36;
const decimalsAt = 44;
const initializedAt = 45;

/** Reads what events do not show: the pair of a pool; decimals, supply and token program of a mint. */
export class PoolResolver {
  readonly #book: PoolBook;
  readonly #accounts: AccountFetcher;
  readonly #venues: ReadonlyMap<string, Venue>;
  readonly #signal: AbortSignal;
  readonly #hopeless = new Recent<number>(maxHopeless);

  constructor(book: PoolBook, accounts: AccountFetcher, venues: ReadonlyMap<string, Venue>, signal: AbortSignal) {
    this.#signal = signal;
    this.#book = book;
    this.#accounts = accounts;
    this.#venues = venues;
  }

  /** True if the pool was recently requested and not found. */
  isHopeless(pool: Pool): boolean {
    const untilMs = this.#hopeless.get(pool.address);
    return untilMs !== undefined && performance.now() < untilMs;
  }

  /** Reads and notes what is needed. Returns null, or the reason why it failed. */
  async learn(need: Need): Promise<string | null> {
    const deadlineMs = performance.now() + unavailableWithinMs;
    for (;;) {
      const faults = await Promise.all(need.addresses.map((address) => this.#learnOne(need, address)));
      const fault = faults.find((text) => text !== null) ?? null;
      if (fault === null) return null;
      if (fault === unavailable && performance.now() < deadlineMs && !this.#signal.aborted) {
        await pause(unavailablePauseMs, this.#signal, { ref: false });
        continue;
      }
      this.#hopeless.set(need.pool.address, performance.now() + (fault === unavailable ? unavailableForMs : hopelessForMs));
      return fault;
    }
  }

  async #learnOne({ pool, trade }: Need, address: string): Promise<string | null> {
    const faultOf = (state: AccountState): string | null =>
      trade !== undefined ? settingsFault(pool.venue, trade, state) : address === pool.address ? this.#poolFault(state) : mintFault(state);
    const usable = (state: AccountState): boolean => faultOf(state) === null;
    let account: FetchedAccount = await this.#accounts.fetch(address, usable);
    for (let attempt = 1; account.kind === 'missing' && attempt < missingAttempts; attempt++) {
      await pause(missingPauseMs, this.#signal, { ref: false });
      account = await this.#accounts.fetch(address, usable);
    }
    if (account.kind === 'unavailable') return unavailable;
    if (account.kind === 'missing')
      return trade !== undefined ? noSettings : address === pool.address ? 'the pool does not exist' : 'the mint does not exist';
    const fault = faultOf(account.state);
    if (fault !== null) return fault;
    if (trade === undefined) this.#note(account.state);
    else this.#book.learnSettings(address, account.state.data);
    return null;
  }

  #poolFault({ owner, data }: AccountState): string | null {
    const venue = this.#venues.get(owner);
    if (venue === undefined) return 'the pool is not owned by its program';
    return venue.decodeAccount(data).kind === 'decoded' ? null : 'the account is not a pool';
  }

  /** Notes a valid account: a pool or a mint. */
  #note(state: AccountState): void {
    const venue = this.#venues.get(state.owner);
    if (venue === undefined) {
      noteMint(this.#book.token(state.address), state);
      return;
    }
    const outcome = venue.decodeAccount(state.data);
    if (outcome.kind === 'decoded') this.#book.learnAccount(venue, state.address, outcome.account);
  }
}

const unavailable = 'no endpoint answered';
const noSettings = 'the account with the rates of its trades does not exist';

function settingsFault(venue: Venue, trade: VenueTrade, { owner, data }: AccountState): string | null {
  const isComplete = owner === venue.programId && venue.completeTrade?.(trade, data) != null;
  return isComplete ? null : 'the account does not have the rates of its trades';
}

/** What an event of a pool still needs; null if everything is known. */
export function needOf(pool: Pool, withTokenProgram: boolean): Need | null {
  const { token, quote } = pool;
  if (token === null || quote === null) return { pool, addresses: [pool.address] };
  const needsToken = token.decimals === null || (withTokenProgram && token.tokenProgram === null);
  if (!needsToken && quote.decimals !== null) return null;
  const addresses: string[] = [];
  if (needsToken) addresses.push(token.mint);
  if (quote.decimals === null) addresses.push(quote.mint);
  return { pool, addresses };
}

function mintFault({ owner, data }: AccountState): string | null {
  const isMint = (owner === tokenProgram || owner === token2022Program) && data.length >= mintLength && data[initializedAt] === 1;
  return isMint ? null : 'the account is not a mint';
}

/** Decimals, supply and program of a valid mint account. */
function noteMint(token: Token, { owner, data, receivedUs }: AccountState): void {
  token.decimals = data[decimalsAt]!;
  token.supply = new DataView(data.buffer, data.byteOffset, data.length).getBigUint64(supplyAt, true);
  token.supplyAtMs = receivedUs / 1000;
  token.tokenProgram = owner;
}
