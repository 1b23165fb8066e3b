import type { ChainAccount, TokenBalance } from '../chain.ts';
import { isMint, isTokenAccountData, mintFields, tokenFields } from '../layout/token-state.ts';

/** A token account begins with its mint and owner. */
const holderBytes = 64;

type AccountBytes = Pick<ChainAccount, 'owner' | 'data'>;

/** Reads an account in its state at the time in question. */
export type AccountReader = (address: string) => AccountBytes | null;

/** A token account's balance; null if the account is not one, or if its mint is not known. */
function balanceOf(accountIndex: number, { owner: programId, data }: AccountBytes, read: AccountReader): TokenBalance | null {
  const mint = tokenFields.mint(data);
  const mintAccount = read(mint);
  if (mintAccount === null || !isMint(mintAccount.owner, mintAccount.data)) return null;
  const decimals = mintFields.decimals(mintAccount.data);
  return { accountIndex, mint, owner: tokenFields.owner(data), programId, amount: tokenFields.amount(data), decimals };
}

/**
 * Whether two token accounts have the same mint and owner. Apart from the amount, a balance depends on nothing else (decimals never
 * change).
 */
function sameHolder(a: AccountBytes, b: AccountBytes): boolean {
  if (a.owner !== b.owner) return false;
  for (let at = 0; at < holderBytes; at++) if (a.data[at] !== b.data[at]) return false;
  return true;
}

/** Token balances of a transaction's accounts, as the node records them before and after the transaction. */
export function tokenBalances(
  accountKeys: readonly string[],
  before: AccountReader,
  after: AccountReader,
): { readonly pre: readonly TokenBalance[]; readonly post: readonly TokenBalance[] } {
  const pre: TokenBalance[] = [];
  const post: TokenBalance[] = [];
  for (const [accountIndex, address] of accountKeys.entries()) {
    const was = before(address);
    const is = after(address);
    const first = was === null || !isTokenAccountData(was.owner, was.data) ? null : balanceOf(accountIndex, was, before);
    if (first !== null) pre.push(first);
    if (is === null || !isTokenAccountData(is.owner, is.data)) continue;
    if (first !== null && was !== null && sameHolder(was, is)) post.push({ ...first, amount: tokenFields.amount(is.data) });
    else {
      const second = balanceOf(accountIndex, is, after);
      if (second !== null) post.push(second);
    }
  }
  return { pre, post };
}
