import type { WalletRead } from '../../trading/src/state/hot-wallets.ts';
import { awaitOwnOrders, OwnOrders } from '../../trading/src/state/own-orders.ts';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

/** A wallet whose state arrives slot by slot, on virtual time. */
beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const read = (slot: number): WalletRead => ({
  slot,
  askedAtMs: 0,
  lamports: 0n,
  tokenAccounts: new Map(),
  unownedLamports: new Map(),
  soleSources: 0,
  isDisputed: false,
});

it('an order waits until the state includes the previous order of the wallet, but at most one second', async () => {
  const orders = new OwnOrders();
  orders.landed('wallet', 105);
  orders.landed('wallet', 103);
  expect([orders.landedIn('wallet'), orders.landedIn('another')]).toEqual([105, 0]);
  let slot = 103;
  const found = awaitOwnOrders(() => read(slot), orders.landedIn('wallet'));
  await vi.advanceTimersByTimeAsync(300);
  slot = 106;
  await vi.advanceTimersByTimeAsync(10);
  expect((await found).slot).toBe(106);
  const never = awaitOwnOrders(() => read(104), 105);
  await vi.advanceTimersByTimeAsync(1_010);
  expect((await never).slot).toBe(104);
  await vi.advanceTimersByTimeAsync(30_001);
  expect(orders.landedIn('wallet')).toBe(0);
});

it('an order that was sent at most two minutes ago may have landed', () => {
  const orders = new OwnOrders();
  orders.changed('wallet');
  expect([orders.mayHaveLanded('wallet'), orders.mayHaveLanded('another')]).toEqual([true, false]);
  vi.advanceTimersByTime(120_001);
  expect(orders.mayHaveLanded('wallet')).toBe(false);
  for (let at = 0; at <= 4_096; at++) orders.changed(`wallet ${at}`);
  expect([orders.mayHaveLanded('wallet 0'), orders.mayHaveLanded('wallet 1')]).toEqual([false, true]);
});
