import { parentPort, workerData } from 'node:worker_threads';
import { createBus } from '@sluice/shared/bus/create.ts';
import { createLog } from '@sluice/shared/log/log.ts';
import { createMarket } from '@sluice/shared/market/create.ts';
import type { Market } from '@sluice/shared/market/market.ts';
import { createPoolDirectory } from '@sluice/shared/pools/create.ts';
import type { PoolDirectory } from '@sluice/shared/pools/pool-directory.ts';
import { Keeper } from './keeper.ts';
import type { CloseOrder, ThreadSettings } from './threaded-keeper.ts';

/** How often the thread reports its statistics. */
const reportEveryMs = 250;

/** The keeper as a thread, with its own connections, until it receives the order to close. */
async function main({ redisUrls, level }: ThreadSettings): Promise<void> {
  if (parentPort === null) throw new TypeError('This is a thread of an ingest process.');
  const port = parentPort;
  const log = createLog({ level, name: 'market' });
  const bus = await createBus({ redisUrls, log });
  let market: Market | null = null;
  let pools: PoolDirectory | null = null;
  try {
    market = await createMarket({ redisUrls, log });
    pools = await createPoolDirectory({ redisUrls, log });
    const keeper = new Keeper({ bus, market, pools, log });
    const report = (): void => port.postMessage(keeper.stats);
    const timer = setInterval(report, reportEveryMs);
    const { withinMs } = await new Promise<CloseOrder>((resolve) => port.once('message', resolve));
    clearInterval(timer);
    await keeper.close(withinMs);
    report();
  } finally {
    await pools?.close();
    await market?.close();
    await bus.close();
  }
  port.close();
}

await main(workerData as ThreadSettings);
