import { once } from 'node:events';
import { createBus } from '@sluice/shared/bus/create.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import { runOnSettings } from '@sluice/shared/config/run.ts';
import { createLog } from '@sluice/shared/log/log.ts';
import { startIngest } from './ingest.ts';

const requires = {
  SOLANA_RPC_URL: 'an ingest process needs the chain it reads',
  REDIS_URL: 'an ingest process of its own needs the bus that gateways read',
};

/** Ingest as a process of its own; SIGTERM and SIGINT end it. */
async function main(config: Config): Promise<void> {
  const log = createLog({ level: config.logLevel, name: 'ingest' });
  const ending = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => ending.abort());
  const bus = await createBus({ redisUrls: config.redisUrls, log });
  try {
    const ingest = await startIngest({ config, bus, log, signal: ending.signal });
    if (!ending.signal.aborted) await once(ending.signal, 'abort');
    await ingest.close();
  } finally {
    await bus.close();
  }
  log.info('ingest_ended');
}

await runOnSettings(process.env, requires, main);
