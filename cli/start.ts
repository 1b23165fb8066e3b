import { createApiKey } from '@sluice/gateway/auth/api-keys.ts';
import { scopes } from '@sluice/gateway/auth/principal.ts';
import { listWallets, openKeystore } from '@sluice/gateway/custody/keystore.ts';
import { keystoreName, readPassphrase } from '@sluice/gateway/custody/passphrase.ts';
import { startGateway } from '@sluice/gateway/gateway.ts';
import { openStore, type Store } from '@sluice/gateway/store/store.ts';
import { startIngest } from '@sluice/ingest/ingest.ts';
import { createBus } from '@sluice/shared/bus/create.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import { createLog, type Logger } from '@sluice/shared/log/log.ts';
import { lamportsPerSol } from '@sluice/shared/solana/well-known.ts';
import { startSimnet, type Simnet } from '@sluice/test/simnet/simnet.ts';
import { CommandError, loadConfig } from './command.ts';
import { gatewayUrl } from './gateway-url.ts';
import { Closers, stopOnSignals } from './lifecycle.ts';

/** Key and wallet of the embedded start carry this label; the next start finds them by it. */
const embeddedLabel = 'embedded start';
const airdropSol = 100n;

/** Everything in one process: the chain (simulated unless SOLANA_RPC_URL is set), ingest, the bus and the gateway. */
async function start(): Promise<void> {
  const config = loadConfig();
  const log = createLog({ level: config.logLevel, name: 'sluice' });
  const closers = new Closers();
  const signal = stopOnSignals(log, closers);
  try {
    const store = openStore(config);
    closers.add('store', async () => store.close());
    const simnet = config.rpc === null ? await startSimnet({ host: '127.0.0.1', port: 0, seed: 1, log, signal }) : null;
    if (simnet !== null) closers.add('simnet', () => simnet.close());
    const url = await startProduct(simnet === null ? config : onSimnet(config, simnet), store, log, closers, signal);
    if (signal.aborted) return;
    console.log(simnet === null ? clusterBlock(url) : await embeddedBlock(config, store, simnet, url));
  } catch (error) {
    await closers.closeAll(log);
    throw error;
  }
}

async function startProduct(config: Config, store: Store, log: Logger, closers: Closers, signal: AbortSignal): Promise<string> {
  const bus = await createBus({ redisUrls: config.redisUrls, log });
  closers.add('bus', () => bus.close());
  const ingest = await startIngest({ config, bus, log, signal });
  closers.add('ingest', () => ingest.close());
  const gateway = await startGateway({ config, bus, log, signal, store }).catch((error: unknown) => {
    throw (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
      ? new CommandError(`${config.host}:${config.port} is taken by another process (EADDRINUSE); PORT names another.`, { cause: error })
      : error;
  });
  closers.add('gateway', () => gateway.close());
  return gatewayUrl({ ...config, port: gateway.port });
}

function onSimnet(config: Config, simnet: Simnet): Config {
  return Object.freeze({ ...config, rpc: Object.freeze({ httpUrls: [simnet.rpcUrl], wsUrls: [simnet.wsUrl] }) });
}

function clusterBlock(url: string): string {
  return [
    '',
    'sluice is running.',
    '',
    `  dashboard   ${url}/`,
    `  API keys    npx -y pnpm@12 sluice keys create --plan standard`,
    '',
  ].join('\n');
}

/** A key and a wallet to play with, made and shown only because the chain is simulated. */
async function embeddedBlock(config: Config, store: Store, simnet: Simnet, url: string): Promise<string> {
  const key = embeddedKey(store);
  const wallet = await embeddedWallet(config, store);
  simnet.chain.airdrop(wallet, airdropSol * lamportsPerSol);
  return [
    '',
    'sluice is running on a SIMULATED chain: its coins, trades and balances are made up.',
    '',
    `  dashboard   ${url}/`,
    `  API key     ${key}`,
    '              (Enterprise, all scopes, until the next start)',
    `  wallet      ${wallet}`,
    `              (custodial, ${airdropSol} simulated SOL)`,
    `  live events ${watchCommandLine(config, url)}`,
    '',
  ].join('\n');
}

function embeddedKey(store: Store): string {
  for (const key of store.keys.all()) {
    if (key.label === embeddedLabel) store.keys.remove(key.id);
  }
  return createApiKey(store, { plan: 'enterprise', scopes, label: embeddedLabel, expiresAtMs: null }).key;
}

async function embeddedWallet(config: Config, store: Store): Promise<string> {
  const name = keystoreName(config);
  const known = listWallets(store, name).find((wallet) => wallet.label === embeddedLabel);
  if (known !== undefined) return known.publicKey;
  const passphrase = readPassphrase(config);
  if (passphrase === null) throw new Error('simnet has no passphrase');
  const outcome = await openKeystore(store, name, passphrase);
  if (!outcome.ok) throw new CommandError('The passphrase does not unlock the keystore of simnet under DATA_DIR.');
  const wallet = outcome.keystore.create(embeddedLabel);
  if (wallet === null) throw new CommandError('The keystore of simnet under DATA_DIR is full.');
  return wallet.publicKey;
}

/** As it works from another terminal in this folder, whose environment may lack what was set for this process alone. */
function watchCommandLine(config: Config, url: string): string {
  const environment = config.dataDir === '.data' ? '' : `DATA_DIR=${config.dataDir} `;
  const address = url === 'http://127.0.0.1:8080' ? '' : ` --url ${url}`;
  return `${environment}npx -y pnpm@12 sluice watch trades${address}`;
}

try {
  await start();
} catch (error) {
  console.error(error instanceof CommandError ? error.message : error);
  process.exitCode = 1;
}
