import { createApiKey } from '@sluice/gateway/auth/api-keys.ts';
import { createAuthenticator } from '@sluice/gateway/auth/authenticator.ts';
import { openStore } from '@sluice/gateway/store/store.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { testConfig } from '../../support/test-config.ts';
import { startMarketGateway } from '../../support/market-gateway.ts';

/**
 * The measured gateway, with a frozen market. argv: data folder, Redis URL or `-`. Prints a key, a path and its address, one on each line.
 */
const [, , dataDir = '', redisUrl = '-'] = process.argv;

const log = createLog({ level: 'error', name: 'bench' });
const config = { ...testConfig, dataDir, redisUrls: redisUrl === '-' ? null : [redisUrl] };
const store = await openStore(config);
const made = await createApiKey(store, {
  plan: 'enterprise',
  scopes: ['read'],
  label: 'bench',
  // The key's limit must not limit the measurement.
  limits: { requestsPerMinute: 60e6, burst: 1e6 },
});
if (!made.ok) throw new Error('no key was created');
const authenticator = await createAuthenticator({ store, plans: config.plans, log });
const { server, mints, ...market } = await startMarketGateway({ seed: 5, slots: 60, transport: 'uws', config, authenticator });
await market.freeze();
process.stdout.write(`key ${made.created.key}\npath /token/info/${mints[0]}\nlistening ${server.gateway.url}\n`);
