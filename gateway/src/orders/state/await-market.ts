import { setTimeout as pause } from 'node:timers/promises';
import type { HotMarketRead } from './hot-markets.ts';
import type { HotState } from './hot-state.ts';

/** How long the state at hand may take to reach what a simulation has seen, and how often it is looked at. */
const withinMs = 400;
const stepMs = 10;

/** A coin's market once it has come as far as is asked for; null where it does not within a moment. Rejects with an `RpcError`. */
export async function awaitMarket(
  state: Pick<HotState, 'market'>,
  mint: string,
  isFarEnough: (market: HotMarketRead) => boolean,
): Promise<HotMarketRead | null> {
  const deadlineMs = performance.now() + withinMs;
  do {
    const market = await state.market(mint);
    if (isFarEnough(market)) return market;
    await pause(stepMs);
  } while (performance.now() < deadlineMs);
  return null;
}
