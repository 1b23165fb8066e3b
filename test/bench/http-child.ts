import { Type } from 'typebox';
import { createApiKey } from '@sluice/gateway/auth/api-keys.ts';
import { startGateway } from '@sluice/gateway/gateway.ts';
import { bindEndpoint } from '@sluice/gateway/http/endpoint.ts';
import { openStore } from '@sluice/gateway/store/store.ts';
import { createBus } from '@sluice/shared/bus/create.ts';
import { createLog } from '@sluice/shared/log/log.ts';
import { defineEndpoint } from '@sluice/shared/wire/rest/endpoint.ts';
import { testConfig } from '../support/gateway.ts';
import { addressOf } from '../support/stream-events.ts';

/** The gateway that is measured, alone in its process. argv: data folder, Redis URL or `-`. Tells its address and its key in two lines. */
const [, , dataDir = '', redisUrl = '-'] = process.argv;

/** As much as a token's answer has, rendered before. */
const bytes = Buffer.from(JSON.stringify({ mint: addressOf(1), filler: 'x'.repeat(1_400) }));
const fixedBytes = defineEndpoint({
  id: 'benchInfo',
  method: 'GET',
  path: '/bench/info/{mint}',
  bothForms: true,
  access: 'read',
  tag: 'bench',
  summary: 'Bytes that are there already, behind everything that stands before a read.',
  params: Type.Object({ mint: Type.String({ minLength: 32, maxLength: 44 }) }, { additionalProperties: false }),
  answer: Type.Unknown(),
  errors: [],
});

const log = createLog({ level: 'error', name: 'bench' });
const redisUrls = redisUrl === '-' ? null : [redisUrl];
const config = { ...testConfig, dataDir, redisUrls };
const store = await openStore(config);
const made = await createApiKey(store, {
  plan: 'enterprise',
  scopes: ['read'],
  label: 'bench',
  expiresAtMs: null,
  accountId: null,
  ipRanges: [],
  // The limit of the key is not what ends the measurement.
  limits: { requestsPerMinute: 60e6, burst: 1e6 },
});
if (!made.ok) throw new Error('no key could be made');
const gateway = await startGateway({
  config,
  bus: await createBus({ redisUrls, log }),
  log,
  store,
  signal: new AbortController().signal,
  transport: 'uws',
  endpoints: [bindEndpoint(fixedBytes, () => ({ jsonBytes: bytes }))],
});
process.stdout.write(`key ${made.shown.key}\npath /bench/info/${addressOf(1)}\nlistening ${gateway.url}\n`);
