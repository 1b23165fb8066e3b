import { parentPort, workerData } from 'node:worker_threads';
import { createBus } from '@sluice/shared/bus/create.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { createMarket } from '@sluice/shared/market/create.ts';
import { createPoolDirectory } from '@sluice/shared/market/pools/create.ts';
import { Followers } from './followers.ts';
import type { CloseOrder, ThreadSettings } from './threaded.ts';

/** How often the thread reports its statistics. */
const reportEveryMs = 250;

/** The followers as a thread, with its own connections, until it receives the order to close. */
async function main({ redisUrls, level }: ThreadSettings): Promise<void> {
  if (parentPort === null) throw new TypeError('This is a thread of an ingest process.');
  const port = parentPort;
  const log = createLog({ level, name: 'followers' });
  const opened: { close(): Promise<void> }[] = [];
  const open = async <T extends { close(): Promise<void> }>(opening: Promise<T>): Promise<T> => {
    const one = await opening;
    opened.unshift(one);
    return one;
  };
  try {
    const bus = await open(createBus({ redisUrls, log }));
    const market = await open(createMarket({ redisUrls, log }));
    const pools = await open(createPoolDirectory({ redisUrls, log }));
    const followers = new Followers({ bus, market, pools, log });
    const report = (): void => port.postMessage(followers.stats);
    const timer = setInterval(report, reportEveryMs);
    const { withinMs } = await new Promise<CloseOrder>((resolve) => port.once('message', resolve));
    clearInterval(timer);
    await followers.close(withinMs);
    report();
  } finally {
    for (const one of opened) await one.close();
  }
  port.close();
}

await main(workerData as ThreadSettings);
