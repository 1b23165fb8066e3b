import { once } from 'node:events';
import { createBus } from '@sluice/shared/bus/create.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import { runOnSettings } from '@sluice/shared/config/run.ts';
import { createLog, type Logger } from '@sluice/shared/log/log.ts';
import type { Metric } from '@sluice/shared/operations/metric.ts';
import { ProcessMeter } from '@sluice/shared/operations/process-meter.ts';
import { serveOperations } from '@sluice/shared/operations/server.ts';
import { onStop } from '@sluice/shared/process/on-stop.ts';
import { yieldEngineThreads } from '@sluice/shared/thread/priority.ts';
import { startIngest, type Ingest } from './ingest.ts';

const requires = {
  SOLANA_RPC_URL: 'an ingest process must have a chain to read',
  REDIS_URL: 'a separate ingest process needs Redis to reach the gateways',
};

/** Ingest as its own process. `onStop` says when it ends. */
async function main(config: Config): Promise<void> {
  yieldEngineThreads();
  const log = createLog({ level: config.logLevel, name: 'ingest' });
  const ending = new AbortController();
  onStop(process.env, (reason) => {
    log.info({ reason }, 'stopping');
    ending.abort();
  });
  const bus = await createBus({ redisUrls: config.redisUrls, log });
  try {
    const ingest = await startIngest({ config, bus, log, signal: ending.signal });
    try {
      const operations = await serveOperationsPort(config, ingest, log);
      if (!ending.signal.aborted) await once(ending.signal, 'abort');
      await operations?.close();
    } finally {
      await ingest.close();
    }
  } finally {
    await bus.close();
  }
  log.info('ingest_ended');
}

/** `/metrics`, `/livez` and `/readyz`, if the settings name a port for them. */
async function serveOperationsPort({ operations: { metrics: place, sharePort }, allowedHosts }: Config, ingest: Ingest, log: Logger) {
  if (place === null) return null;
  const meter = new ProcessMeter();
  const metrics = async (): Promise<readonly Metric[]> => [...ingest.metrics(), ...(await meter.metrics())];
  const server = await serveOperations({ ...place, waitForPort: sharePort, allowedHosts, metrics, parts: () => ingest.parts(), log });
  return {
    close: async () => {
      meter.close();
      await server.close();
    },
  };
}

await runOnSettings(process.env, requires, main);
