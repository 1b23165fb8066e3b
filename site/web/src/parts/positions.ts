import type { Positions } from '@sluice/client';
import { useMemo } from 'preact/hooks';
import { useLoaded, useSignal } from './hooks.ts';
import { soon } from '../state/bounded.ts';
import { me, sluice } from '../state/server.ts';
import { useStore } from '../state/store.ts';

/** What a wallet has of one token, and what that has cost. */
export type WalletPosition = Positions['positions'][number];

/** Also read from time to time, in case the stream is disconnected. */
const refreshMs = 15_000;
/** After a change. Several come at once. */
const changedMs = 150;

/** The positions of wallets, by wallet and mint; null while they are not known. `fault`: why they are not, or no newer ones. */
export function usePositions(wallets: readonly string[]) {
  // A server without trading keeps no positions.
  const isOff = useStore(me)?.trading === 'off';
  const key = isOff ? '' : wallets.toSorted().join(' ');
  const load =
    key === '' ? null : async () => Promise.all(key.split(' ').map(async (one) => [one, (await sluice.positions(one)).positions] as const));
  const { value, fault, reload } = useLoaded(load, key, refreshMs);
  useSignal([key], (signal) => {
    if (key === '') return;
    const reloadSoon = soon(reload, changedMs, signal);
    sluice.subscribe('orders', {
      signal,
      onEvent: (event) => {
        if (event.type === 'position' && wallets.includes(event.publicKey)) reloadSoon();
      },
      onGap: reloadSoon,
      // What is read from time to time shows why.
      onError: () => undefined,
    });
  });
  const positions = useMemo(
    () => value && new Map(value.map(([one, list]) => [one, new Map(list.map((each) => [each.mint, each]))])),
    [value],
  );
  return { positions, fault };
}

/** What a position has gained so far, at a price in SOL for one token: SOL, and how far the price is above its average cost. Null if it is unknown. */
export function profitOf(
  { uiAmount, costSol, averageCostSol }: WalletPosition,
  priceSol: number | null,
): { readonly sol: number; readonly percent: number | null } | null {
  if (priceSol === null || uiAmount === null) return null;
  const percent = averageCostSol === null || averageCostSol === 0 ? null : (priceSol / averageCostSol - 1) * 100;
  return { sol: uiAmount * priceSol - costSol, percent };
}
