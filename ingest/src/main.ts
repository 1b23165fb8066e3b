import { once } from 'node:events';
import { createBus } from '@sluice/shared/bus/create.ts';
import { loadEnvFile } from '@sluice/shared/config/env-file.ts';
import { readSettings } from '@sluice/shared/config/settings.ts';
import { createLog } from '@sluice/shared/log/log.ts';
import { startIngest } from './ingest.ts';

/** Ingest as a process of its own; SIGTERM and SIGINT end it. */
async function main(): Promise<void> {
  loadEnvFile();
  const settings = readSettings(process.env);
  const log = createLog({ level: settings.ok ? settings.config.logLevel : 'info', name: 'ingest' });
  const faults = settings.ok ? [] : [...settings.faults];
  if (settings.ok && settings.config.rpc === null) faults.push('SOLANA_RPC_URL: an ingest process needs the chain it reads');
  if (settings.ok && settings.config.redisUrls === null)
    faults.push('REDIS_URL: an ingest process of its own needs the bus that gateways read');
  if (!settings.ok || faults.length > 0) {
    log.fatal({ faults }, 'settings_wrong');
    process.exitCode = 1;
    return;
  }
  const { config } = settings;
  const ending = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => ending.abort());
  const bus = await createBus({ redisUrls: config.redisUrls, log }).catch((error: unknown) => {
    log.fatal({ err: error }, 'bus_unavailable');
    return null;
  });
  if (bus === null) {
    process.exitCode = 1;
    return;
  }
  const ingest = await startIngest({ config, bus, log, signal: ending.signal });
  if (!ending.signal.aborted) await once(ending.signal, 'abort');
  await ingest.close();
  await bus.close();
  log.info('ingest_ended');
}

await main();
