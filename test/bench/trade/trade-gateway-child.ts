import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createApiKey } from '@sluice/gateway/auth/api-keys.ts';
import { createAuthenticator } from '@sluice/gateway/auth/authenticator.ts';
import { openKeystore } from '@sluice/trading/signer/custody/keystore.ts';
import { randomPassphraseCost } from '@sluice/trading/signer/custody/seal.ts';
import { openStore } from '@sluice/gateway/store/store.ts';
import { createBus } from '@sluice/shared/bus/create.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { yieldEngineThreads } from '@sluice/shared/runtime/thread/priority.ts';
import { nowUs } from '@sluice/shared/runtime/clock/now-us.ts';
import { entryOf, priceEvent } from '../../support/events/stream-events.ts';
import { sharedClockMs } from './trade-node-child.ts';
import { startTestGateway } from '../../support/gateway.ts';
import { testConfig } from '../../support/test-config.ts';

/**
 * The gateway whose orders are measured, with its store and its signing process. argv: data folder, the node's HTTP and WebSocket
 * addresses, the number of custodial wallets, and optionally the address of a Redis that it shares with other gateways. Prints a key, the
 * wallets and its address, one on each line.
 */
// As in the gateway's `main.ts`.
yieldEngineThreads();
const [, , dataDir = '', rpcUrl = '', wsUrl = '', walletCount = '1', redisUrl] = process.argv;
const redisUrls = redisUrl === undefined ? null : [redisUrl];
const passphrase = 'a passphrase of the benchmark';
const keystorePassphraseFile = join(dataDir, 'passphrase');
writeFileSync(keystorePassphraseFile, `${passphrase}\n`, { mode: 0o600 });
const config: Config = {
  ...testConfig,
  dataDir,
  redisUrls,
  rpc: { httpUrls: [rpcUrl], wsUrls: [wsUrl] },
  trading: 'live',
  keystorePassphraseFile,
  signerSocket: null,
  signerDir: null,
  signerLimits: { maxOrderLamports: 10n ** 12n, maxDayLamports: 10n ** 15n },
};
const log = createLog({ level: 'error', name: 'bench' });
const store = await openStore(config);
const made = await createApiKey(store, {
  plan: 'enterprise',
  scopes: ['read', 'trade'],
  label: 'bench',
  // The key's limit must not limit the measurement.
  limits: { requestsPerMinute: 60e6, burst: 1e6 },
});
if (!made.ok) throw new Error('no key was created');
const opened = await openKeystore(store, 'cluster', passphrase, randomPassphraseCost);
if (!opened.ok) throw new Error(opened.reason);
const wallets: string[] = [];
for (let i = 0; i < Number(walletCount); i++) wallets.push((await opened.keystore.create(null))!.publicKey);
const authenticator = await createAuthenticator({ store, plans: config.plans, log });
const bus = await createBus({ redisUrls, log });
const { gateway } = await startTestGateway({ config, store, authenticator, bus });
process.stdout.write(`key ${made.created.key}\nwallets ${wallets.join(',')}\nlistening ${gateway.url}\n`);
// A line `<mint> <priceSol>`: publishes a tick, as ingest would, and prints when.
const publisher = await bus.publisher();
createInterface({ input: process.stdin }).on('line', (line) => {
  const [mint = '', price] = line.split(' ');
  const priceSol = Number(price);
  const { ts: _, ...event } = priceEvent(mint, { priceQuote: priceSol, priceSol });
  const received = nowUs();
  const entry = entryOf({ ...event, mainPool: event.poolAddress, ts: { received, published: received } });
  const atMs = sharedClockMs();
  void publisher.publish([entry]).then(() => process.stdout.write(`ticked ${atMs}\n`));
});
// Ends cleanly on request, so that a profile of it is written.
process.once('SIGTERM', () => void gateway.close().then(() => process.exit(0)));
