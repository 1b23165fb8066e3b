import type { Chain } from '../chain.ts';

/** The data of an account that must be there. */
export function accountBytes(chain: Chain, address: string): Buffer {
  const account = chain.account(address);
  if (account === null) throw new Error(`no account ${address}`);
  return Buffer.from(account.data);
}
