import { once } from 'node:events';
import { createBus } from '@sluice/shared/bus/create.ts';
import { loadEnvFile } from '@sluice/shared/config/env-file.ts';
import { readSettings } from '@sluice/shared/config/settings.ts';
import { createLog } from '@sluice/shared/log/log.ts';
import { startGateway } from './gateway.ts';

/** A gateway as a process of its own; SIGTERM and SIGINT drain it. */
async function main(): Promise<void> {
  loadEnvFile();
  const settings = readSettings(process.env);
  const log = createLog({ level: settings.ok ? settings.config.logLevel : 'info', name: 'gateway' });
  const faults = settings.ok ? [] : [...settings.faults];
  if (settings.ok && settings.config.redisUrls === null)
    faults.push('REDIS_URL: a gateway process of its own needs the bus that ingest writes');
  if (!settings.ok || faults.length > 0) {
    log.fatal({ faults }, 'settings_wrong');
    process.exitCode = 1;
    return;
  }
  const { config } = settings;
  const ending = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => ending.abort());
  const bus = await createBus({ redisUrls: config.redisUrls, log });
  const gateway = await startGateway({ config, bus, log, signal: ending.signal });
  log.info({ url: gateway.url }, 'listening');
  if (!ending.signal.aborted) await once(ending.signal, 'abort');
  await gateway.close();
  await bus.close();
}

await main();
