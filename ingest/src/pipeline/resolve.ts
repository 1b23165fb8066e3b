import { pause } from '@sluice/shared/runtime/abort/pause.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { token2022Program, tokenProgram } from '@sluice/shared/solana/well-known.ts';
import type { DecodedAccount, DecodedConstants, Venue } from '@sluice/venues/seam/venue.ts';
import { Recent } from '@sluice/shared/runtime/collections/recent.ts';
import type { AccountFetcher, FetchedAccount } from '../sources/rpc/account-fetcher.ts';
import type { AccountState } from '../sources/sighting.ts';
import type { Decoder } from './decode.ts';
import type { Pool, PoolBook, Token } from './pools.ts';

/** Accounts to be read before events of a pool can be published. */
export interface Need {
  readonly pool: Pool;
  readonly addresses: readonly string[];
  /** The only address is the account that trades `need`. */
  readonly isConstants?: boolean;
  /** Without the price that the account shows, the events are published too. */
  readonly isPrice?: boolean;
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
/** Further accounts that one account may need. */
const maxMore = 4;
/** Concurrent requests for supplies. Above this limit, a supply is requested at its next trade. */
const maxSupplies = 2_000;
/** How long a supply is valid that only the mint's account shows. */
const supplyFreshForMs = 60_000;

// Layout of a mint, the same in both token programs.
const mintLength = 82;
const supplyAt = 36;
const decimalsAt = 44;
const initializedAt = 45;

export interface ResolverParts {
  readonly book: PoolBook;
  readonly accounts: AccountFetcher;
  /** By program. */
  readonly venues: ReadonlyMap<string, Venue>;
  /** Counts the accounts. */
  readonly decoder: Pick<Decoder, 'noteAccount'>;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Reads what events do not show: the pair of a pool; decimals, supply and token program of a mint. */
export class PoolResolver {
  readonly #parts: ResolverParts;
  readonly #hopeless = new Recent<number>(maxHopeless);
  /** Supplies that are being read. */
  #supplies = 0;

  constructor(parts: ResolverParts) {
    this.#parts = parts;
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
      if (fault === unavailable && performance.now() < deadlineMs && !this.#parts.signal.aborted) {
        await pause(unavailablePauseMs, this.#parts.signal, { ref: false });
        continue;
      }
      this.#hopeless.set(need.pool.address, performance.now() + (fault === unavailable ? unavailableForMs : hopelessForMs));
      return fault;
    }
  }

  /**
   * Reads the supply of a pool's token, from the account of the curve or the mint, if no event showed it, or if it is too old. No trade waits for it.
   * `atMs` is the time of a trade in the pool.
   */
  requestSupplyIfDue(pool: Pool, atMs: number): void {
    const { token } = pool;
    // The pair was contested, and forgotten while its supply was read.
    if (token === null) return;
    if (token.supplyByMint ? atMs - token.supplyAtMs < supplyFreshForMs : token.supply !== null) return;
    if (pool.supplyAsked || this.#supplies >= maxSupplies || this.isHopeless(pool)) return;
    void this.#learnSupply(pool, pool.isCurve && !token.supplyByMint ? pool.address : token.mint, atMs);
  }

  async #learnSupply(pool: Pool, address: string, atMs: number): Promise<void> {
    pool.supplyAsked = true;
    this.#supplies++;
    const fault = await this.learn({ pool, addresses: [address] });
    this.#supplies--;
    pool.supplyAsked = false;
    // A curve's account may refer to the mint's account.
    if (fault === null) this.requestSupplyIfDue(pool, atMs);
    else this.#parts.log.debug({ pool: pool.address, reason: fault }, 'supply_unknown');
  }

  #learnOne({ pool, isConstants = false }: Need, address: string): Promise<string | null> {
    return isConstants || address === pool.address ? this.#learnAccount(address, pool, isConstants) : this.#learnMint(address);
  }

  async #learnMint(address: string): Promise<string | null> {
    const read = await this.#fetch(address, 'the mint does not exist', mintFault);
    if (typeof read === 'string') return read;
    noteMint(this.#parts.book.token(address), read);
    return null;
  }

  /** Reads an account of a venue. If the account needs others, reads these and decodes again. */
  async #learnAccount(address: string, pool: Pool, isConstants: boolean): Promise<string | null> {
    const others = new Map<string, Uint8Array>();
    const read = (other: string): Uint8Array | null => others.get(other) ?? null;
    const decode = ({ owner, data }: AccountState): DecodedAccount | DecodedConstants | null => {
      // The numbers of another program mean something else.
      const venue = !isConstants || owner === pool.venue.programId ? this.#parts.venues.get(owner) : undefined;
      return (isConstants ? venue?.constantsOf?.(data, read, address) : venue?.decodeAccount(data, read)) ?? null;
    };
    const note = (state: AccountState, outcome = decode(state)): void => {
      const venue = this.#parts.venues.get(state.owner);
      if (venue !== undefined && outcome !== null) this.#parts.decoder.noteAccount(venue, state, outcome);
    };
    let unusable: AccountState | null = null;
    const faultOf = (state: AccountState): string | null => {
      const outcome = decode(state);
      if (outcome?.kind === 'decoded' || outcome?.kind === 'more') return null;
      unusable = state;
      if (isConstants) return 'the account does not have the numbers that its trades need';
      return this.#parts.venues.has(state.owner) ? 'the account is not a pool' : 'the pool is not owned by its program';
    };
    const state = await this.#fetch(
      address,
      isConstants ? 'the account that its trades need does not exist' : 'the pool does not exist',
      faultOf,
    );
    if (typeof state === 'string') {
      if (unusable !== null) note(unusable);
      return state;
    }
    const first = decode(state);
    for (const other of first?.kind === 'more' ? first.addresses.slice(0, maxMore) : []) {
      const more = await this.#fetch(other, 'an account that the pool names does not exist', ({ owner }) =>
        owner === state.owner ? null : 'an account that the pool names is not owned by its program',
      );
      if (typeof more === 'string') return more;
      others.set(other, more.data);
    }
    const outcome = decode(state);
    note(state, outcome);
    if (outcome?.kind !== 'decoded') return 'the accounts of the pool do not fit together';
    const venue = this.#parts.venues.get(state.owner)!;
    if ('account' in outcome) this.#parts.book.learnAccount(venue, address, outcome.account);
    // A pool that shows its pair may also have the numbers that its trades need.
    const numbers = 'account' in outcome ? venue.constantsOf?.(state.data, read, address) : outcome;
    if (numbers?.kind === 'decoded') this.#learnNumbers(venue, address, state, numbers);
    return null;
  }

  /** Notes the numbers of an account. Those that further accounts add follow. */
  #learnNumbers(venue: Venue, address: string, state: AccountState, numbers: Extract<DecodedConstants, { kind: 'decoded' }>): void {
    const { constants, further } = numbers;
    const { book } = this.#parts;
    const isWhole = further === undefined || further.length === 0;
    if (isWhole || book.constants(address) === undefined) book.learnConstants(address, constants, further !== undefined);
    if (!isWhole) void this.#learnFurther(venue, address, state, further);
  }

  async #learnFurther(venue: Venue, address: string, { owner, data }: AccountState, further: readonly string[]): Promise<void> {
    const { accounts, book } = this.#parts;
    const fetched = await Promise.all(further.map((one) => accounts.fetch(one)));
    const read = new Map(
      fetched.flatMap((one, at) => (one.kind === 'found' && one.state.owner === owner ? [[further[at], one.state.data]] : [])),
    );
    const numbers = venue.constantsOf!(data, (other) => read.get(other) ?? null, address);
    if (numbers.kind === 'decoded') book.learnConstants(address, numbers.constants, true);
  }

  /** The account, or why there is none that can be used. */
  async #fetch(address: string, missing: string, faultOf: (state: AccountState) => string | null): Promise<AccountState | string> {
    const usable = (state: AccountState): boolean => faultOf(state) === null;
    let account: FetchedAccount = await this.#parts.accounts.fetch(address, usable);
    for (let attempt = 1; account.kind === 'missing' && attempt < missingAttempts; attempt++) {
      await pause(missingPauseMs, this.#parts.signal, { ref: false });
      account = await this.#parts.accounts.fetch(address, usable);
    }
    if (account.kind === 'unavailable') return unavailable;
    return account.kind === 'missing' ? missing : (faultOf(account.state) ?? account.state);
  }
}

const unavailable = 'no endpoint answered';

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
  token.taughtBy = null;
  token.supply = new DataView(data.buffer, data.byteOffset, data.length).getBigUint64(supplyAt, true);
  token.supplyAtMs = receivedUs / 1000;
  token.tokenProgram = owner;
}
