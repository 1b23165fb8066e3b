import type { Trade } from '@sluice/client';
import { useMemo, useState } from 'preact/hooks';
import { ask, me } from '../state/server.ts';
import { useLoaded, type Loaded } from './hooks.ts';

export interface OwnWallet {
  readonly publicKey: string;
  readonly label: string | null;
  readonly imported: boolean;
  readonly createdAtMs: number;
}

/** The answer of `GET /dashboard/wallets`. */
export interface WalletList {
  readonly wallets: readonly OwnWallet[];
  /** Keys of the account, and the wallet that each uses if a request names none. */
  readonly keys: readonly {
    readonly id: string;
    readonly prefix: string;
    readonly label: string | null;
    readonly defaultWallet: string | null;
  }[];
  readonly hasFaucet: boolean;
}

/** The custodial wallets of the account, newest first, and its keys. */
export function useWalletList(): Loaded<WalletList> {
  return useLoaded(async () => ask<WalletList>('wallets'), 'wallets', null);
}

/** The custodial wallets of the account, newest first. */
export function useOwnWallets(): Loaded<readonly OwnWallet[]> {
  const list = useWalletList();
  return { ...list, value: list.value?.wallets ?? null };
}

/** Whether a wallet of the account made a trade. */
export function useIsOwn(): (trade: Trade) => boolean {
  const wallets = useOwnWallets().value;
  return useMemo(() => {
    const own = new Set((wallets ?? []).map(({ publicKey }) => publicKey));
    return ({ trader }) => own.has(trader);
  }, [wallets]);
}

/** An address is no secret. */
const storedName = (): string => `sluice-wallet ${me.value?.account?.id ?? ''}`;

/** The wallets of the account, and the one that this browser used last, or the oldest one if it used none. */
export interface ChosenWallet {
  readonly wallets: readonly OwnWallet[] | null;
  readonly fault: string | null;
  /** Empty without a wallet. */
  readonly publicKey: string;
  readonly choose: (publicKey: string) => void;
}

export function useChosenWallet(): ChosenWallet {
  const { value: wallets, fault } = useOwnWallets();
  const [chosen, setChosen] = useState(() => localStorage.getItem(storedName()));
  const found = (wallets ?? []).find(({ publicKey }) => publicKey === chosen) ?? wallets?.at(-1);
  const choose = (publicKey: string): void => {
    localStorage.setItem(storedName(), publicKey);
    setChosen(publicKey);
  };
  return { wallets, fault, publicKey: found?.publicKey ?? '', choose };
}
