import type { ChainAccount, TokenBalance } from '../chain.ts';
import { isMint, isTokenAccountData, mintFields, tokenFields } from '../programs/token-state.ts';

/** Reads an account as it stands at the moment asked about. */
export type AccountReader = (address: string) => Pick<ChainAccount, 'owner' | 'data'> | null;

/** Token balances of a transaction's accounts, as the node records them before and after it. */
export function tokenBalances(accountKeys: readonly string[], read: AccountReader): readonly TokenBalance[] {
  const balances: TokenBalance[] = [];
  for (const [accountIndex, address] of accountKeys.entries()) {
    const account = read(address);
    if (account === null || !isTokenAccountData(account.owner, account.data)) continue;
    const mint = tokenFields.mint(account.data);
    const mintAccount = read(mint);
    if (mintAccount === null || !isMint(mintAccount.owner, mintAccount.data)) continue;
    balances.push({
      accountIndex,
      mint,
      owner: tokenFields.owner(account.data),
      programId: account.owner,
      amount: tokenFields.amount(account.data),
      decimals: mintFields.decimals(mintAccount.data),
    });
  }
  return balances;
}
