import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { newToken, tokenHash } from '@sluice/gateway/accounts/sessions/sessions.ts';
import { endReadyKey, readyKey } from '@sluice/gateway/auth/ready-key.ts';
import { listWallets, openKeystore } from '@sluice/trading/signer/custody/keystore.ts';
import { keystoreCost, keystoreName, paperKeystore, passphraseFileOf, readPassphrase } from '@sluice/trading/signer/custody/passphrase.ts';
import { startGateway } from './gateway/gateway.ts';
import { operatorAccountId } from '@sluice/gateway/store/sql/tables/accounts.ts';
import { aboutDataDir } from '@sluice/gateway/store/files/files.ts';
import { takeLock, type Lock } from '@sluice/gateway/store/files/lock.ts';
import { openStore, type Store } from '@sluice/gateway/store/store.ts';
import { createPaperWallet } from '@sluice/trading/place/paper/paper-trading.ts';
import { mayUseWallet } from '@sluice/gateway/accounts/wallet-access.ts';
import type { Custody } from '@sluice/trading/api/trading.ts';
import { startIngest } from '@sluice/ingest/ingest.ts';
import { createBus } from '@sluice/shared/bus/create.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import { simnetMemory } from '@sluice/shared/config/memory-bounds.ts';
import { runOnSettings } from '@sluice/shared/config/run.ts';
import { SettingError } from '@sluice/shared/config/settings/setting-error.ts';
import { createLog, type Logger } from '@sluice/shared/runtime/log/log.ts';
import { createMarket } from '@sluice/shared/market/create.ts';
import { createPoolDirectory } from '@sluice/shared/market/pools/create.ts';
import { TokenMetadataBook } from '@sluice/shared/metadata/book.ts';
import { MetadataFetcher } from '@sluice/shared/metadata/fetch.ts';
import { paperSol } from '@sluice/shared/wire/rest/wallets/portfolio.ts';
import { lamportsPerSol } from '@sluice/shared/solana/well-known.ts';
import { yieldEngineThreads } from '@sluice/shared/runtime/thread/priority.ts';
import { withSimulatedImages } from '@sluice/simnet/market/images.ts';
import { marketAtSpeed } from '@sluice/simnet/market/market.ts';
import { startSimnet, type Simnet } from '@sluice/simnet/simnet.ts';
import { airdropCommandLine, atUsualPort } from './start/local-node.ts';
import { gatewayUrl } from './gateway/gateway-probe.ts';
import { closeOnStop, Closers } from './start/lifecycle.ts';
import { ownCommand } from './start/own-command.ts';
import { startOutput, type StartOutput } from './start/start-output.ts';

/** Label of the key and the wallet of the embedded start. The next start finds the wallet by it. */
const embeddedLabel = 'embedded start';
const airdropSol = 100n;
/** How long the sign-in link is valid, if nobody uses it. */
const linkLifeMs = 24 * 60 * 60_000;
/** 2 minutes of transactions at the default speed, about 15 KB each, and 13 minutes of coins that no longer trade. */
const chainBounds = { history: { transactions: 1_000, blocks: 2_000 }, coins: { onCurve: 150, onPool: 50, retired: 200 } } as const;

/**
 * With a simulated chain, the engine collects the heap whenever it has grown by 15 % since the last collection, and merges sparse pages. By
 * default, it lets the heap grow to several times the size of the living objects. Most of that memory then cannot be returned, because living
 * objects are spread over its pages: 800 MB after a day. (Merging all pages at each collection would save more, but needs 120 MB meanwhile.)
 */
const simnetHeap = ['--heap-growing-percent=15', '--optimize-for-size'] as const;

/** Starts everything in one process: the chain (simulated unless SOLANA_RPC_URL is set), ingest, the bus and the gateway. */
async function start(settings: Config): Promise<void> {
  yieldEngineThreads();
  const isQuiet = !process.env['LOG_LEVEL'];
  const config: Config = isQuiet ? Object.freeze({ ...settings, logLevel: 'warn' }) : settings;
  const lock = lockDataDir(config);
  const output = startOutput();
  const log = createLog({ level: config.logLevel, name: 'sluice' });
  const closers = new Closers();
  closers.add('lock', async () => lock.release());
  const signal = closeOnStop(log, closers);
  try {
    output.step('opening the store');
    const store = await openStore(config, 'service');
    closers.add('store', () => store.close());
    output.step(config.rpc === null ? 'starting the simulated chain' : 'checking the API keys');
    const simnet = config.rpc === null ? await startChain(config, log) : null;
    if (simnet !== null) closers.add('simnet', () => simnet.close());
    else if (await endReadyKey(store)) log.warn('simnet_api_key_revoked');
    // Chosen by the original settings: `onSimnet` adds an RPC URL, and the wallets must still be those of simnet.
    const custody = { keystore: keystoreName(config), passphraseFile: passphraseFileOf(config) };
    const metadata = openMetadata(config, simnet !== null, closers);
    const productConfig = simnet === null ? config : onSimnet(config, simnet);
    const url = await startProduct(productConfig, custody, store, metadata, log, closers, signal, output);
    if (signal.aborted) return;
    output.step('preparing the API key and the wallet');
    const block = simnet === null ? await clusterBlock(config, store, url) : await embeddedBlock(config, store, simnet, url);
    output.succeed(isQuiet ? `${block}${quietNote}` : block);
  } catch (error) {
    output.fail();
    await closers.closeAll(log);
    // A signal ended the process during its start.
    if (!signal.aborted) throw error;
  }
}

/** It has no signal: it ends last, because ingest and the gateway would report a node that ends before them. */
function startChain({ simnetSpeed }: Config, log: Logger): Promise<Simnet> {
  for (const flag of simnetHeap) setFlagsFromString(flag);
  const { history, coins } = chainBounds;
  const market = { ...marketAtSpeed(simnetSpeed), coins };
  return atUsualPort((port) => startSimnet({ host: '127.0.0.1', port, seed: 1, market, history, oracleTransactions: 0, log }));
}

/** Only one start may use a data folder: a second one would show the same key and wallet for another chain. */
function lockDataDir({ dataDir }: Config): Lock {
  const file = join(dataDir, 'start.lock');
  const lock = aboutDataDir(`${file} cannot be locked`, () => takeLock(file));
  if (lock !== null) return lock;
  throw new SettingError('DATA_DIR', `another start uses ${dataDir}; stop it, or set another folder`);
}

function openMetadata({ ipfsGateways }: Config, isSimulated: boolean, closers: Closers): TokenMetadataBook {
  const fetcher = new MetadataFetcher({ ipfsGateways });
  closers.add('metadata', async () => fetcher.close());
  return new TokenMetadataBook(isSimulated ? withSimulatedImages(fetcher) : fetcher);
}

async function startProduct(
  config: Config,
  custody: Custody,
  store: Store,
  metadata: TokenMetadataBook,
  log: Logger,
  closers: Closers,
  signal: AbortSignal,
  output: StartOutput,
): Promise<string> {
  if (config.redisUrls !== null) output.step('connecting to Redis');
  const bus = await createBus({ redisUrls: config.redisUrls, inProcess: config.memory.log, log });
  closers.add('bus', () => bus.close());
  const market = await createMarket({ redisUrls: config.redisUrls, inProcess: config.memory.market, log });
  closers.add('market', () => market.close());
  const pools = await createPoolDirectory({ redisUrls: config.redisUrls, log });
  closers.add('pools', () => pools.close());
  output.step('starting ingest');
  const ingest = await startIngest({ config, bus, market, pools, metadata, log, signal });
  closers.add('ingest', () => ingest.close());
  const embeddedIngest = { metrics: () => ingest.metrics(), parts: () => ({}) };
  output.step('starting the gateway');
  const gateway = await startGateway({ config, custody, bus, market, directory: pools, metadata, log, signal, store, embeddedIngest });
  closers.add('gateway', () => gateway.close());
  return gatewayUrl({ ...config, port: gateway.port });
}

function onSimnet(config: Config, simnet: Simnet): Config {
  return Object.freeze({ ...config, rpc: Object.freeze({ httpUrls: [simnet.rpcUrl], wsUrls: [simnet.wsUrl] }), memory: simnetMemory });
}

/** Follows the block, unless the user chose a level. */
const quietNote = '\nOnly warnings and errors follow; LOG_LEVEL=info shows the whole log. Press Ctrl-C to stop.\n';

async function clusterBlock(config: Config, store: Store, url: string): Promise<string> {
  return [
    '',
    `sluice is running${config.trading === 'paper' ? ' and trades ON PAPER: prices are real, orders and balances are not' : ''}.`,
    '',
    `  dashboard   ${url}/`,
    ...(config.trading === 'paper' ? paperLines(await paperWallet(store)) : []),
    `  sign in     ${commandLine(config, 'accounts link', new URL(url).port)}`,
    '              (prints a link that opens the dashboard signed in; it works once, within ten minutes)',
    `  API keys    ${commandLine(config, 'keys create --plan standard')}`,
    '',
  ].join('\n');
}

function paperLines(wallet: string): readonly string[] {
  return [`  wallet      ${wallet}`, `              (on paper, ${paperSol.start} SOL to begin with; it has no secret key)`];
}

/** The operator's oldest paper wallet. The first start makes it. */
async function paperWallet(store: Store): Promise<string> {
  const operator = { accountId: operatorAccountId };
  const known = (await listWallets(store, paperKeystore)).find((wallet) => mayUseWallet(operator, wallet));
  const wallet = known ?? (await createPaperWallet(store, { ...operator, label: embeddedLabel }));
  if ('error' in wallet) throw new SettingError('DATA_DIR', wallet.message);
  return wallet.publicKey;
}

/** Shows a key and a wallet with simulated coins. Only a simulated chain gets them. */
async function embeddedBlock(config: Config, store: Store, simnet: Simnet, url: string): Promise<string> {
  const key = await readyKey(store, embeddedLabel);
  const wallet = config.trading === 'paper' ? paperLines(await paperWallet(store)) : await fundedWallet(config, store, simnet);
  return [
    '',
    'sluice is running on a SIMULATED chain: its coins, trades and balances are not real.',
    '',
    `  dashboard   ${url}/${await signInFragment(store)}`,
    '              (opens signed in; the link works once, the next start shows another)',
    `  API key     ${key}`,
    '              (Enterprise, all scopes; the next start shows the same)',
    ...wallet,
    `  chain RPC   ${simnet.rpcUrl}`,
    `              (WebSocket: ${simnet.wsUrl})`,
    `  get SOL     ${airdropCommandLine(simnet.rpcUrl)}`,
    '              (for any wallet, also of your own; requestAirdrop at the RPC works too)',
    `  live events ${commandLine(config, 'watch trades')}${url === 'http://127.0.0.1:8080' ? '' : ` --url ${url}`}`,
    '',
  ].join('\n');
}

async function fundedWallet(config: Config, store: Store, simnet: Simnet): Promise<readonly string[]> {
  const wallet = await embeddedWallet(config, store);
  simnet.chain.airdrop(wallet, airdropSol * lamportsPerSol);
  return [`  wallet      ${wallet}`, `              (custodial, ${airdropSol} simulated SOL)`];
}

/** The end of a link that signs in as the operator. Browsers do not send the part after `#`, so no log contains it. */
async function signInFragment(store: Store): Promise<string> {
  const token = newToken();
  const nowMs = store.time.nowMs();
  const link = { hash: tokenHash(token), accountId: operatorAccountId, expiresAtMs: nowMs + linkLifeMs };
  // Without a link, because too many are unused, the page shows the ways to sign in.
  return (await store.oneTime.put(link, nowMs)) ? `#sign-in=${token}` : '';
}

async function embeddedWallet(config: Config, store: Store): Promise<string> {
  const name = keystoreName(config);
  const known = (await listWallets(store, name)).find((wallet) => wallet.label === embeddedLabel);
  if (known !== undefined) return known.publicKey;
  const passphrase = readPassphrase(config);
  if (passphrase === null) throw new Error('the keystore of simnet has no passphrase');
  const outcome = await openKeystore(store, name, passphrase, keystoreCost(config));
  if (!outcome.ok) {
    throw new SettingError(
      config.keystorePassphraseFile === null ? 'DATA_DIR' : 'KEYSTORE_PASSPHRASE_FILE',
      'the passphrase does not unlock the keystore of simnet',
    );
  }
  const wallet = await outcome.keystore.create(embeddedLabel);
  if (wallet === null) throw new SettingError('DATA_DIR', 'its keystore of simnet is full');
  return wallet.publicKey;
}

/** The command for another terminal in this folder. It repeats the settings that may be set for this process only. */
function commandLine({ dataDir }: Config, command: string, port = '8080'): string {
  const environment = [...(dataDir === '.data' ? [] : [`DATA_DIR=${dataDir}`]), ...(port === '8080' ? [] : [`PORT=${port}`])];
  return [...environment, ownCommand(), command].join(' ');
}

await runOnSettings(process.env, {}, start);
