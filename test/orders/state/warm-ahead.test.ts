import { startIngest } from '@sluice/ingest/ingest.ts';
import { InProcessPoolDirectory } from '@sluice/shared/market/pools/in-process-pool-directory.ts';
import { LazyEvent } from '../../../gateway/src/stream/history/lazy-event.ts';
import { HotState } from '../../../trading/src/state/hot-state.ts';
import { warmNewTokens } from '../../../trading/src/api/log-listeners.ts';
import { createInProcessBus } from '@sluice/shared/bus/in-process/in-process-bus.ts';
import { venues } from '@sluice/venues/registry.ts';
import { expect, it } from 'vitest';
import { testConfig } from '../../support/test-config.ts';
import { recordingLog } from '../../ingest/harness.ts';
import { startSimnet } from '../../simnet/simnet.ts';
import { until } from '../../support/gateway.ts';

/** From the event until the accounts are followed, with a margin for a slow machine. */
const followedWithinMs = 1_000;

it('new coins of the log are followed before anybody requests them', async () => {
  const simnet = await startSimnet({ seed: 11, slotMs: 100 });
  const ending = new AbortController();
  const log = recordingLog([]);
  const bus = createInProcessBus();
  const rpc = { httpUrls: [simnet.rpcUrl], wsUrls: [simnet.wsUrl] };
  const ingest = await startIngest({ config: { ...testConfig, rpc }, bus, log, signal: ending.signal });
  const subscriber = await bus.subscriber();
  const state = new HotState({ directory: new InProcessPoolDirectory(), ...rpc, venues, log, signal: ending.signal });
  try {
    const coins: { readonly mint: string; readonly atMs: number }[] = [];
    const follower = warmNewTokens(state.markets, venues);
    await subscriber.start({
      onEntry: (entry, replayed) => {
        const lazy = new LazyEvent(entry);
        follower.onEntry(entry, lazy, replayed);
        if (lazy.event.type === 'newToken') coins.push({ mint: lazy.event.mint, atMs: performance.now() });
      },
      onLost: ({ last }) => follower.onLost(last),
    });
    let asked = 0;
    const isNextInMemory = async (): Promise<boolean> => {
      const next = coins[asked];
      if (next === undefined || performance.now() - next.atMs < followedWithinMs) return false;
      asked++;
      const answer = state.markets.read(next.mint);
      await answer;
      return !(answer instanceof Promise);
    };
    await until('a coin that was never requested is in memory', isNextInMemory, 30_000);
    for (const { mint } of coins) expect((await state.markets.read(mint)).result.kind).toBe('market');
  } finally {
    ending.abort();
    await subscriber.close();
    await ingest.close();
    await bus.close();
    await simnet.close();
  }
});
