import { decodeMetaplex, metaplexAddress } from '@sluice/shared/solana/tokens/metaplex.ts';
import { decodeMint, extensionsAt, type Mint } from '@sluice/shared/solana/tokens/mint.ts';
import { token2022Program, tokenProgram, zeroAddress } from '@sluice/shared/solana/well-known.ts';
import { maxTokenNameChars, maxTokenUriChars } from '@sluice/shared/wire/values/values.ts';
import { poolsAt, type CurveFacts, type PoolFacts, type PoolPlace } from '@sluice/venues/kit/pool-accounts.ts';
import type { AccountsRead, ChainAccount } from '../chain/account-reader.ts';

/** The accounts of a mint that are read in one call. */
export interface TokenPlan {
  readonly mint: string;
  readonly metaplex: string;
  readonly pools: readonly PoolPlace[];
  /** All addresses, the mint first. */
  readonly addresses: readonly string[];
}

/** Throws TypeError if `mint` is not an address. */
export function planToken(mint: string, pools: readonly PoolPlace[]): TokenPlan {
  const metaplex = metaplexAddress(mint);
  return { mint, metaplex, pools, addresses: [mint, metaplex, ...pools.flatMap(({ address, vaults }) => [address, ...vaults])] };
}

export interface TokenIdentity {
  readonly name: string | null;
  readonly symbol: string | null;
  readonly uri: string | null;
  readonly source: 'token-2022' | 'metaplex' | 'event';
  readonly updateAuthority: string | null;
}

export interface TokenTraits {
  readonly traits: readonly string[];
  readonly creatorFeeBps: number;
}

/** The facts about a token from one read of the chain. */
export interface TokenFacts {
  readonly mint: string;
  readonly token: Mint;
  readonly identity: TokenIdentity | null;
  readonly curve: CurveFacts | null;
  readonly pools: readonly PoolFacts[];
  readonly slot: number;
  /** Unix milliseconds, because it is compared with the times of events. */
  readonly askedAtMs: number;
}

/**
 * `missing`: no such account. `no_mint`: another kind of account, usually a wallet. `unreadable`: a mint in a form that this version
 * does not know; no facts are better than wrong ones.
 */
export type TokenRead = { readonly kind: 'token'; readonly facts: TokenFacts } | { readonly kind: 'missing' | 'no_mint' | 'unreadable' };

/** Builds the facts from the accounts of a plan. An account is used only if its owner, kind and cross-references are right. */
export function readToken(plan: TokenPlan, { slot, accounts }: Omit<AccountsRead, 'askedAtMs'>, askedAtMs: number): TokenRead {
  const byAddress = new Map(plan.addresses.map((address, index) => [address, accounts[index] ?? null]));
  const account = byAddress.get(plan.mint) ?? null;
  if (account === null) return { kind: 'missing' };
  const token = decodeMint(account.owner, account.data);
  if (token === null) return { kind: isMintInAnotherForm(account) ? 'unreadable' : 'no_mint' };
  const metaplex = byAddress.get(plan.metaplex) ?? null;
  const { curve, pools } = poolsAt(plan.mint, plan.pools, byAddress);
  const facts: TokenFacts = { mint: plan.mint, token, identity: identityOf(plan, token, metaplex), curve, pools, slot, askedAtMs };
  return { kind: 'token', facts };
}

/** Whether the account is a mint that cannot be read, for example because of an unknown extension. An uninitialized account is no mint. */
function isMintInAnotherForm({ owner, data }: ChainAccount): boolean {
  if (owner !== tokenProgram && owner !== token2022Program) return false;
  return extensionsAt(owner, data, 'mint') !== null && data[45] === 1;
}

/** The mint's metadata pointer says where its metadata is. Without a pointer, as with all SPL Token mints, it may be in a Metaplex account. */
function identityOf(plan: TokenPlan, { extensions }: Mint, metaplex: ChainAccount | null): TokenIdentity | null {
  const pointer = extensions.metadataPointer;
  const { metadata } = extensions;
  if (metadata !== null && metadata.mint === plan.mint && (pointer === null || pointer === plan.mint)) {
    return bounded({ ...metadata, source: 'token-2022' });
  }
  if (metaplex === null || (pointer !== null && pointer !== plan.metaplex)) return null;
  const decoded = decodeMetaplex(metaplex.owner, metaplex.data);
  return decoded === null || decoded.mint !== plan.mint ? null : bounded({ ...decoded, source: 'metaplex' });
}

/** Without texts that are too long. */
export function bounded({ name, symbol, uri, source, updateAuthority }: TokenIdentity): TokenIdentity {
  const text = (value: string | null, most: number): string | null => (value !== null && value.length <= most ? value : null);
  return {
    name: text(name, maxTokenNameChars),
    symbol: text(symbol, maxTokenNameChars),
    uri: text(uri, maxTokenUriChars),
    source,
    updateAuthority,
  };
}

/** Creator and traits from the curve, or else from the first pool. Null: neither exists. */
export function creatorOf({ curve, pools }: TokenFacts): string | null {
  const creator = curve?.account.creator ?? pools[0]?.account.tokenCreator ?? null;
  return creator === zeroAddress ? null : creator;
}

export function traitsOf({ curve, pools }: TokenFacts): TokenTraits | null {
  const account = curve?.account ?? pools[0]?.account;
  return account === undefined ? null : { traits: account.traits, creatorFeeBps: account.creatorFeeBps };
}
