import { once } from 'node:events';
import type { Bus } from '@sluice/shared/bus/bus.ts';
import { createBus } from '@sluice/shared/bus/create.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import { runOnSettings } from '@sluice/shared/config/run.ts';
import { createLog, type Logger } from '@sluice/shared/runtime/log/log.ts';
import { createMarket } from '@sluice/shared/market/create.ts';
import { createPoolDirectory } from '@sluice/shared/market/pools/create.ts';
import type { PoolDirectory } from '@sluice/shared/market/pools/pool-directory.ts';
import type { MarketStore } from '@sluice/shared/market/market.ts';
import { onStop } from '@sluice/shared/runtime/process/on-stop.ts';
import { yieldEngineThreads } from '@sluice/shared/runtime/thread/priority.ts';
import { endReadyKey } from '@sluice/gateway/auth/ready-key.ts';
import { startGateway } from './gateway/gateway.ts';
import { endWithinMs } from '@sluice/gateway/operations/process-life.ts';
import { openStore } from '@sluice/gateway/store/store.ts';

const requires = { REDIS_URL: 'a gateway process of its own needs the bus that ingest writes to' };

/** A gateway as a process of its own. `onStop` says when it drains. */
async function main(config: Config): Promise<void> {
  yieldEngineThreads();
  const log = createLog({ level: config.logLevel, name: 'gateway' });
  const ending = new AbortController();
  endOnStop(ending, log);
  const store = await openStore(config, 'service');
  let bus: Bus | null = null;
  let market: MarketStore | null = null;
  let directory: PoolDirectory | null = null;
  try {
    if (config.rpc !== null && (await endReadyKey(store))) log.warn('simnet_api_key_revoked');
    bus = await createBus({ redisUrls: config.redisUrls, log });
    market = await createMarket({ redisUrls: config.redisUrls, log });
    directory = await createPoolDirectory({ redisUrls: config.redisUrls, log });
    const gateway = await startGateway({ config, bus, market, directory, log, signal: ending.signal, store });
    log.info({ url: gateway.url }, 'listening');
    if (!ending.signal.aborted) await once(ending.signal, 'abort');
    await gateway.close();
  } catch (error) {
    // An error after the signal to end is expected, because the signal aborts the start.
    if (!ending.signal.aborted) throw error;
  } finally {
    await directory?.close();
    await market?.close();
    await bus?.close();
    await store.close();
  }
}

/** Drains the process. It ends at once if draining takes too long. */
function endOnStop(ending: AbortController, log: Logger): void {
  onStop(process.env, (reason) => {
    log.info({ reason }, 'stopping');
    ending.abort();
    const cut = (): void => {
      log.fatal({ withinMs: endWithinMs }, 'gateway_end_cut_short');
      process.exit(1);
    };
    setTimeout(cut, endWithinMs).unref();
  });
}

await runOnSettings(process.env, requires, main);
