import { once } from 'node:events';
import { createBus } from '@sluice/shared/bus/create.ts';
import { AgreedTime } from '@sluice/shared/runtime/clock/agreed-time.ts';
import { watchClocks } from '@sluice/shared/runtime/clock/watch-clocks.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import { runOnSettings } from '@sluice/shared/config/run.ts';
import { createLog, type Logger } from '@sluice/shared/runtime/log/log.ts';
import { clockRow } from '@sluice/shared/operations/clock-metrics.ts';
import { metricsOf, type Metric } from '@sluice/shared/operations/metric.ts';
import { ProcessMeter } from '@sluice/shared/operations/process-meter.ts';
import type { Parts } from '@sluice/shared/operations/readiness.ts';
import { serveOperations } from '@sluice/shared/operations/server.ts';
import { onStop } from '@sluice/shared/runtime/process/on-stop.ts';
import { yieldEngineThreads } from '@sluice/shared/runtime/thread/priority.ts';
import { startIngest, type Ingest } from './ingest.ts';
import { metricsPrefix } from './metrics.ts';

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
  const time = new AgreedTime();
  let stopWatching = (): void => undefined;
  try {
    stopWatching = await watchClocks(time, { parties: { redis: () => bus.timeMs() }, log });
    const ingest = await startIngest({ config, bus, log, signal: ending.signal });
    try {
      const operations = await serveOperationsPort(config, ingest, time, log);
      if (!ending.signal.aborted) await once(ending.signal, 'abort');
      await operations?.close();
    } finally {
      await ingest.close();
    }
  } finally {
    stopWatching();
    await bus.close();
  }
  log.info('ingest_ended');
}

/** `/metrics`, `/livez` and `/readyz`, if the settings name a port for them. */
async function serveOperationsPort(config: Config, ingest: Ingest, time: AgreedTime, log: Logger) {
  const { metrics: place, sharePort } = config.operations;
  if (place === null) return null;
  const meter = new ProcessMeter();
  const metrics = async (): Promise<readonly Metric[]> => [
    ...ingest.metrics(),
    ...metricsOf(metricsPrefix, [clockRow(time)]),
    ...(await meter.metrics()),
  ];
  const parts = (): Parts => ({ ...ingest.parts(), clock: time.fault() });
  const { allowedHosts } = config;
  const server = await serveOperations({ ...place, waitForPort: sharePort, allowedHosts, metrics, parts, log });
  return {
    close: async () => {
      meter.close();
      await server.close();
    },
  };
}

await runOnSettings(process.env, requires, main);
