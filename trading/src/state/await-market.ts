import { setTimeout as pause } from 'node:timers/promises';
import type { MarketRead } from '../quote/markets.ts';
import type { HotState } from './hot-state.ts';

/** How long the state in memory may take to reach the slot of a simulation, and how often it is checked. */
const withinMs = 400;
const stepMs = 10;

/** Resolves with the market of a coin once `isFarEnough` accepts it, or with null after 400 ms. Rejects with an `RpcError`. */
export async function awaitMarket(
  state: Pick<HotState, 'market'>,
  mint: string,
  isFarEnough: (market: MarketRead) => boolean,
): Promise<MarketRead | null> {
  const deadlineMs = performance.now() + withinMs;
  do {
    const market = await state.market(mint);
    if (isFarEnough(market)) return market;
    await pause(stepMs);
  } while (performance.now() < deadlineMs);
  return null;
}
