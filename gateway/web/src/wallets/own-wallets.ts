import { ask } from '../state/server.ts';
import { useLoaded, type Loaded } from '../parts/hooks.ts';

export interface OwnWallet {
  readonly publicKey: string;
  readonly label: string | null;
  readonly imported: boolean;
  readonly createdAtMs: number;
}

/** The custodial wallets of the account, newest first. */
export function useOwnWallets(): Loaded<readonly OwnWallet[]> {
  return useLoaded(async () => (await ask<{ readonly wallets: readonly OwnWallet[] }>('wallets')).wallets, 'wallets', null);
}
