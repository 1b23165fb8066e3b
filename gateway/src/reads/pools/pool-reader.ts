import { Recent } from '@sluice/shared/runtime/collections/recent.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { quoteCoins } from '@sluice/shared/wire/values/money.ts';
import type { PoolLookup } from '@sluice/shared/market/pools/pool-directory.ts';
import { isAddress } from '@sluice/shared/solana/encoding/base58.ts';
import type { LookedUpAccount } from '@sluice/venues/seam/quoting.ts';
import type { Venue } from '@sluice/venues/seam/venue.ts';
import { furtherAccounts, type PoolPlace } from '@sluice/venues/kit/pool-accounts.ts';
import type { AccountReader, AccountsRead } from '../chain/account-reader.ts';
import {
  assembleMarket,
  isDerived,
  narrowPlan,
  needsDirectory,
  planMarket,
  planWithQuoteCoin,
  withHints,
  type AssembledMarket,
  type MarketPlan,
} from './quoted-market.ts';

/** Most market plans in memory, 1.3 KB each. Beyond that those that were unused longest are dropped. */
const maxPlans = 4_096;
/** How long the directory's pools of a mint are used before it is asked again. */
const hintsTtlMs = 5_000;
/** Most reads in a row of one market: one to learn its quote coin, two for accounts that the pool's account names, one in case these changed. */
const maxReads = 4;
/** Most pools of the directory that are read for one mint, the deepest first, in addition to the derived ones. One read stays below 100 accounts. */
const maxOtherPlaces = 8;

export type DecidedMarket = Exclude<AssembledMarket, { kind: 'more' | 'further' }>;

/** The settings accounts of the programs, read with some market. */
export interface SettingsRead {
  readonly slot: number;
  readonly askedAtMs: number;
  /** Those that exist. */
  readonly accounts: ReadonlyMap<string, LookedUpAccount>;
}

/** The market of a coin, from one answer of the endpoints. */
export interface PoolsRead {
  /** The pools and accounts of the market that this read showed. */
  readonly plan: MarketPlan;
  readonly read: AccountsRead;
  readonly result: DecidedMarket;
  /** The market as other endpoints report it, if they report another state and no two report the same. */
  readonly disputed: readonly { readonly slot: number; readonly result: DecidedMarket }[];
  readonly settings: SettingsRead;
  readonly accounts: ReadonlyMap<string, LookedUpAccount>;
}

export interface ReadOptions {
  /** Known settings, which are then not read again. */
  readonly settings: SettingsRead | null;
  readonly onRead?: (addresses: readonly string[], read: AccountsRead) => void;
}

interface KnownPlan {
  readonly plan: MarketPlan;
  /** When the directory was asked, by the monotonic clock; long ago if never. */
  readonly hintedAtMs: number;
}

export interface PoolReaderOptions {
  readonly reader: AccountReader;
  readonly venues: readonly Venue[];
  readonly directory: PoolLookup;
  readonly log: Logger;
}

/**
 * Answers which pools a mint has, for quotes, orders and reads. Addresses are computed from the mint, or come from the directory, which is only a
 * hint: what counts is what the pools' accounts say, read by the endpoints' vote.
 */
export class PoolReader {
  /** Accounts of the programs' settings, the same for all markets. */
  readonly settings: readonly string[];
  readonly #options: PoolReaderOptions;
  readonly #plans = new Recent<KnownPlan>(maxPlans);

  constructor(options: PoolReaderOptions) {
    this.#options = options;
    this.settings = [...new Set(options.venues.flatMap(({ quoting }) => quoting?.settings ?? []))];
  }

  /** The accounts to read for a market, without asking the directory. Throws TypeError if the mint is no address. */
  planOf(mint: string): MarketPlan {
    return this.#plans.get(mint)?.plan ?? this.#store(planMarket(mint, [...quoteCoins.keys()], this.#options.venues));
  }

  /**
   * Asks the directory for the pools of a mint whose addresses cannot be computed from the mint. Null if that is not necessary: no venue has such
   * pools, or the directory was asked a moment ago. Never rejects. Throws TypeError if the mint is no address.
   */
  lookUp(mint: string): Promise<void> | null {
    const { venues } = this.#options;
    const plan = this.planOf(mint);
    const isFresh = performance.now() - this.#plans.get(mint)!.hintedAtMs < hintsTtlMs;
    return isFresh || !venues.some((venue) => needsDirectory(venue, mint, plan.quoteMints[0]!)) ? null : this.#askDirectory(mint);
  }

  async #askDirectory(mint: string): Promise<void> {
    const { directory, venues, log } = this.#options;
    try {
      const known = await directory.poolsOf(mint);
      this.#store(withHints(this.planOf(mint), known, venues), performance.now());
    } catch (error) {
      // The derived pools are known without it.
      log.debug({ err: error, mint }, 'pools_not_looked_up');
    }
  }

  /** Reads the market of a coin, all accounts in one call. Rejects with an `RpcError`. Throws TypeError if the mint is no address. */
  async readMarket(mint: string, { settings, onRead }: ReadOptions): Promise<PoolsRead> {
    const lookingUp = this.lookUp(mint);
    if (lookingUp !== null) await lookingUp;
    let plan = this.planOf(mint);
    for (let left = maxReads; ; left--) {
      const addresses = settings === null ? [...plan.addresses, ...this.settings] : plan.addresses;
      const read = await this.#options.reader.read(addresses);
      onRead?.(addresses, read);
      const accounts = byAddress(addresses, read.accounts);
      const used = settings ?? {
        slot: read.slot,
        askedAtMs: read.askedAtMs,
        accounts: new Map([...accounts].filter(([address]) => this.settings.includes(address))),
      };
      const assemble = (of: ReadonlyMap<string, LookedUpAccount>): AssembledMarket =>
        assembleMarket(plan, (address) => of.get(address) ?? used.accounts.get(address) ?? null);
      const assembled = assemble(accounts);
      if (left > 1 && (assembled.kind === 'more' || assembled.kind === 'further')) {
        const isMore = assembled.kind === 'more';
        plan = this.#store(isMore ? planWithQuoteCoin(plan, assembled.quoteMint, this.#options.venues) : assembled.plan);
        continue;
      }
      // An endpoint that names another quote coin contradicts the one that counts, so nothing more is read for it.
      const disputed = read.disputed.map((other) => ({
        slot: other.slot,
        result: decided(assemble(byAddress(addresses, other.accounts))),
      }));
      const result = decided(assembled);
      return { plan: this.#narrow(plan, result), read, result, disputed, settings: used, accounts };
    }
  }

  /** The pools of a mint whose addresses follow from it; none if it is no address. */
  derivedPlaces(mint: string): readonly PoolPlace[] {
    return this.#options.venues.flatMap((venue) => venue.derivedPools(mint).map((pool) => ({ ...pool, venue, isDerived: true })));
  }

  /**
   * Pools of a mint that the directory has in addition to the derived ones, with the vaults or other accounts that their accounts name. Without curves, because a
   * curve's account names no mint, so only a derived address shows which mint it belongs to. Never rejects.
   */
  async otherPlaces(mint: string, derived: readonly PoolPlace[]): Promise<readonly PoolPlace[]> {
    const { directory, reader, venues, log } = this.#options;
    try {
      const known = await directory.poolsOf(mint);
      const places = known.flatMap(({ venue: name, address }): PoolPlace[] => {
        const venue = venues.find((one) => one.name === name);
        const isUsable = isAddress(address) && !derived.some((place) => place.address === address);
        return venue !== undefined && isUsable ? [{ venue, address, vaults: [], isDerived: false }] : [];
      });
      const some = places.slice(0, maxOtherPlaces);
      if (some.length === 0) return [];
      const addresses = some.map(({ address }) => address);
      const { accounts } = await reader.read(addresses);
      return some.flatMap((place, at) => {
        const account = accounts[at] ?? null;
        const vaults = account === null ? [] : furtherAccounts(place.venue, account);
        return vaults.length === 0 ? [] : [{ ...place, vaults }];
      });
    } catch (error) {
      // The derived pools are known without it.
      log.debug({ err: error, mint }, 'pools_not_looked_up');
      return [];
    }
  }

  /** The quote coin of a curve never changes, so the others need not be read again. */
  #narrow(plan: MarketPlan, result: DecidedMarket): MarketPlan {
    const first = result.kind === 'market' ? result.market.pools[0]?.pool : undefined;
    const isOwn = plan.pools.some((pool) => isDerived(pool) && pool.addresses[0] === first?.address);
    const quoteMint = isOwn ? first?.quoteMint : undefined;
    return quoteMint === undefined || plan.quoteMints.length === 1 ? plan : this.#store(narrowPlan(plan, quoteMint));
  }

  #store(plan: MarketPlan, hintedAtMs = this.#plans.get(plan.mint)?.hintedAtMs ?? Number.NEGATIVE_INFINITY): MarketPlan {
    this.#plans.set(plan.mint, { plan, hintedAtMs });
    return plan;
  }
}

const changesItsQuoteCoin = { kind: 'malformed', venue: 'any', reason: 'its quote coin or accounts change with every read' } as const;

function decided(assembled: AssembledMarket): DecidedMarket {
  return assembled.kind === 'more' || assembled.kind === 'further' ? changesItsQuoteCoin : assembled;
}

function byAddress(addresses: readonly string[], accounts: readonly (LookedUpAccount | null)[]): ReadonlyMap<string, LookedUpAccount> {
  return new Map(accounts.flatMap((account, at) => (account === null ? [] : [[addresses[at]!, account] as const])));
}
