import type { Chain } from '../chain.ts';

/** The data of an account that must exist. */
export function accountBytes(chain: Chain, address: string): Buffer {
  const account = chain.account(address);
  if (account === null) throw new Error(`account ${address} does not exist`);
  return Buffer.from(account.data);
}
