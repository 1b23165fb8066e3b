import type { MarketRead } from '@sluice/trading/quote/markets.ts';
import { InProcessPoolDirectory } from '@sluice/shared/market/pools/in-process-pool-directory.ts';
import { assembleMarket, planMarket, type AssembledMarket } from '@sluice/gateway/reads/pools/quoted-market.ts';
import { HotState, type HotStateOptions } from '../../../trading/src/state/hot-state.ts';
import { wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { venues } from '@sluice/venues/registry.ts';
import { recordingLog, type LogLine } from '../../ingest/harness.ts';
import type { Chain } from '../../simnet/chain.ts';
import { startSimnet, type Simnet } from '../../simnet/simnet.ts';
import type { SimChain } from '../../simnet/sim-chain.ts';
import { launchCoin, moveToPool, tradedChain, tradeOnChain, type QuotedCoin } from '../../support/chain/quoted-trades.ts';

const everything = 793_100_000_000_000n;
const anyPrice = 10n ** 14n;

/** What a coin's pools held at the end of each slot, including slots that died. */
type Past = readonly { readonly slot: number; readonly reserves: string }[];

/** A chain on which one coin on its curve and one in its pool are traded, slot by slot, with the history of their true states. */
export interface TradedWorld {
  readonly chain: SimChain;
  readonly nodes: readonly Simnet[];
  readonly curve: QuotedCoin;
  readonly pool: QuotedCoin;
  /** One trade of the two coins in turn, in its own slot. */
  step(): void;
  /** Runs `step` at this interval until the returned function is called. */
  run(everyMs: number): () => void;
  open(options?: Partial<HotStateOptions>): HotState;
  /** The lines that the states logged. */
  readonly lines: readonly LogLine[];
  past(mint: string): Past;
  close(): Promise<void>;
}

export function reservesIn(result: AssembledMarket): string {
  if (result.kind !== 'market') return result.kind;
  return result.market.pools.map(({ venue, pool }) => `${venue.name} ${pool.complete} ${Object.values(pool.reserves!).join()}`).join('; ');
}

/** By how many slots a value is older than the slot that it states; 0 or less if it is not. */
export function slotsTooOld(past: Past, { slot, result }: MarketRead): number {
  const reserves = reservesIn(result);
  const newest = past.findLast((state) => state.reserves === reserves);
  if (newest === undefined) throw new Error(`Never true: ${reserves}`);
  return slot - newest.slot;
}

export async function startTradedWorld(nodeCount = 1): Promise<TradedWorld> {
  const chain = tradedChain();
  const curve = launchCoin(chain);
  const pool = launchCoin(chain);
  tradeOnChain(chain, pool, 'pump', { exact: 'baseOut', amount: everything }, anyPrice);
  moveToPool(chain, pool, false);
  const nodes: Simnet[] = [];
  for (let i = 0; i < nodeCount; i++) nodes.push(await startSimnet({ chain, autoStart: false, seed: i }));
  const past = new Map([curve, pool].map(({ mint }) => [mint, recordPast(chain, mint)] as const));
  const states: HotState[] = [];
  const lines: LogLine[] = [];
  let steps = 0;
  const step = (): void => {
    const amount = 1_000_000n + BigInt(++steps);
    if (steps % 2 === 0) tradeOnChain(chain, curve, 'pump', { exact: 'baseOut', amount }, anyPrice);
    else tradeOnChain(chain, pool, 'pump-amm', { exact: 'baseOut', amount }, anyPrice);
  };
  return {
    chain,
    nodes,
    curve,
    pool,
    lines,
    step,
    run(everyMs) {
      const timer = setInterval(step, everyMs);
      return () => clearInterval(timer);
    },
    open(options = {}) {
      const state = new HotState({
        directory: new InProcessPoolDirectory(),
        httpUrls: nodes.map(({ rpcUrl }) => rpcUrl),
        wsUrls: nodes.map(({ wsUrl }) => wsUrl),
        venues,
        log: recordingLog(lines),
        signal: new AbortController().signal,
        ...options,
      });
      states.push(state);
      return state;
    },
    past: (mint) => past.get(mint) ?? [],
    close: async () => {
      for (const state of states) state.close();
      for (const node of nodes) await node.close();
    },
  };
}

function recordPast(chain: Chain, mint: string): Past {
  const plan = planMarket(mint, [wrappedSolMint], venues);
  const states: { slot: number; reserves: string }[] = [];
  const note = (): void => {
    states.push({ slot: chain.slot, reserves: reservesIn(assembleMarket(plan, (address) => chain.account(address))) });
  };
  note();
  chain.listen({ onFrozen: note });
  return states;
}
