import { isReversedPair } from '@sluice/shared/wire/values/money.ts';
import { decodeTokenAccount } from '@sluice/shared/solana/tokens/token-account.ts';
import { reservesOfVaults } from './constant-product.ts';
import { flipPrice, flipReserves } from '../seam/price.ts';
import type { CurveAccount, DecodedAccount, DerivedPool, PoolAccount, PoolReserves, Venue } from '../seam/venue.ts';
import type { AccountBytes } from '../seam/quoting.ts';

/** The possible address of a pool of a mint, and the accounts that may hold its reserves. */
export interface PoolPlace extends DerivedPool {
  readonly venue: Venue;
  /** The address follows from the mint, so only the program's own migration can have opened the pool there. */
  readonly isDerived: boolean;
}

export interface CurveFacts {
  readonly venue: Venue;
  readonly address: string;
  readonly account: CurveAccount;
}

export interface PoolFacts {
  readonly venue: Venue;
  readonly address: string;
  readonly isDerived: boolean;
  /** Its base is the token, even if the program has the pair the other way round. */
  readonly account: PoolAccount;
  /** Null if its vaults were not among the accounts, or did not show balances of this pool. */
  readonly reserves: PoolReserves | null;
  /** Balance of its quote vault; null if the vault was not among the accounts, or belongs to something else. */
  readonly quoteHeld: bigint | null;
}

/** The pools of a mint among these places. A pool counts only if the owner, kind and mints of its account are right. A curve that trades goes before one that is over. */
export function poolsAt(
  mint: string,
  places: readonly PoolPlace[],
  accounts: ReadonlyMap<string, AccountBytes | null>,
): { readonly curve: CurveFacts | null; readonly pools: readonly PoolFacts[] } {
  const pools: PoolFacts[] = [];
  let curve: CurveFacts | null = null;
  for (const { venue, address, isDerived } of places) {
    const found = accounts.get(address) ?? null;
    const decoded = found === null ? null : decodeOwned(venue, found, accounts);
    if (decoded?.kind !== 'decoded') continue;
    if (decoded.account.type === 'curve') {
      const { baseMint, complete } = decoded.account;
      if (baseMint !== null ? baseMint !== mint : !isDerived) continue;
      if (curve === null || (curve.account.complete && !complete)) curve = { venue, address, account: decoded.account };
    } else {
      const { baseMint, quoteMint } = decoded.account;
      const isFlipped = quoteMint === mint && isReversedPair(baseMint, quoteMint);
      if (baseMint !== mint && !isFlipped) continue;
      const { reserves, baseHeld, quoteHeld } = vaultsOf(address, decoded.account, accounts);
      if (!isFlipped) pools.push({ venue, address, isDerived, account: decoded.account, reserves, quoteHeld });
      else {
        const flipped = reserves === null ? null : flipReserves(reserves);
        pools.push({ venue, address, isDerived, account: flipAccount(decoded.account), reserves: flipped, quoteHeld: baseHeld });
      }
    }
  }
  return { curve, pools };
}

function decodeOwned(
  venue: Venue,
  { owner, data }: AccountBytes,
  accounts: ReadonlyMap<string, AccountBytes | null>,
): DecodedAccount | null {
  if (owner !== venue.programId) return null;
  return venue.decodeAccount(data, (other) => {
    const found = accounts.get(other) ?? null;
    return found?.owner === venue.programId ? found.data : null;
  });
}

/** The accounts to read together with a pool's own: its vaults, or those without which it cannot be decoded. Empty if it is not a pool. */
export function furtherAccounts(venue: Venue, account: AccountBytes): readonly string[] {
  const decoded = decodeOwned(venue, account, new Map());
  if (decoded?.kind === 'more') return decoded.addresses;
  return decoded?.kind === 'decoded' && decoded.account.type === 'pool' ? [decoded.account.baseVault, decoded.account.quoteVault] : [];
}

function flipAccount(account: PoolAccount): PoolAccount {
  const { baseMint, quoteMint, baseVault, quoteVault, virtualBase, virtualQuote, price } = account;
  const vaults = { baseVault: quoteVault, quoteVault: baseVault, virtualBase: virtualQuote, virtualQuote: virtualBase };
  return { ...account, ...vaults, baseMint: quoteMint, quoteMint: baseMint, price: price === null ? null : flipPrice(price) };
}

function vaultsOf(
  pool: string,
  account: PoolAccount,
  accounts: ReadonlyMap<string, AccountBytes | null>,
): Pick<PoolFacts, 'reserves' | 'quoteHeld'> & { readonly baseHeld: bigint | null } {
  const balance = (vault: string, mint: string): bigint | null => {
    const found = accounts.get(vault) ?? null;
    const decoded = found === null ? null : decodeTokenAccount(found.owner, found.data);
    return decoded !== null && decoded.owner === (account.vaultOwner ?? pool) && decoded.mint === mint ? decoded.amount : null;
  };
  const base = balance(account.baseVault, account.baseMint);
  const quote = balance(account.quoteVault, account.quoteMint);
  // If the account states a price, the price does not follow from the balances of the vaults.
  if (account.price !== null || base === null || quote === null) return { reserves: null, baseHeld: base, quoteHeld: quote };
  return { reserves: reservesOfVaults(account, base, quote), baseHeld: base, quoteHeld: quote };
}
