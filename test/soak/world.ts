import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { openKeystore } from '@sluice/trading/signer/custody/keystore.ts';
import { randomPassphraseCost } from '@sluice/trading/signer/custody/seal.ts';
import { createChain } from '../simnet/sim-chain.ts';
import { startSimnet } from '../simnet/simnet.ts';
import { wallet } from '../simnet/runtime/wallets.ts';
import { until } from '../support/gateway.ts';
import { makeKey, openEmbeddedStore } from '../support/keys.ts';
import { runProgram, type RunningProgram } from '../support/processes.ts';
import { startRedis } from '../support/servers/redis.ts';
import { childrenOf, type Cache, type Watched } from './sampler.ts';

export interface SoakWorld {
  /** For two gateways together. */
  readonly hosts: readonly string[];
  readonly apiKey: string;
  /** Custodial, with SOL. */
  readonly wallet: string;
  readonly watched: readonly Watched[];
  close(): Promise<void>;
}

const slotMs = 200;
/** As many as fill the history before growth is judged: its bytes are in shared memory, which counts only as resident. */
const tradesPerSecond = 250;
const copies = [0, 1];
const walletLamports = 10_000n * 10n ** 9n;
const passphrase = 'a passphrase of the soak';
/** Settings of a process that gets its nodes by address. */
const keystoreName = 'cluster';
const readyWithinMs = 60_000;

const caches = {
  ingest: [
    { name: 'transactions already reported', metric: 'sluice_ingest_notifications_total', bytesEach: 200, atMost: 400_000 },
    { name: 'pools', metric: 'sluice_ingest_pools', bytesEach: 2_000, atMost: 200_000 },
  ],
  gateway: [
    { name: 'places in the history', metric: 'sluice_gateway_history_entries', bytesEach: 60, atMost: Infinity },
    { name: 'requested tokens', metric: 'sluice_gateway_tokens', bytesEach: 7_700, atMost: Infinity },
    // For the same coins; see OPERATING.md for the bounds.
    { name: 'their creations and addresses', metric: 'sluice_gateway_tokens', bytesEach: 1_900, atMost: 4_096 },
    { name: 'their markets', metric: 'sluice_gateway_tokens', bytesEach: 5_000, atMost: 1_024 },
    { name: 'messages to buy and sell them', metric: 'sluice_gateway_tokens', bytesEach: 12_000, atMost: 512 },
  ],
} as const satisfies Record<string, readonly Cache[]>;

const loaded = (path: string): string => pathToFileURL(path).href;
const preload = `--import ${loaded(createRequire(import.meta.url).resolve('tsx'))} --import ${loaded(join(import.meta.dirname, 'meter.ts'))}`;

/** A market that runs by itself, Redis, two ingest processes and two gateways that trade; all of them are watched. */
export async function openSoakWorld(): Promise<SoakWorld> {
  const closers: (() => unknown)[] = [];
  const close = async (): Promise<void> => {
    for (const closer of closers.splice(0).toReversed()) await closer();
  };
  try {
    return { ...(await open(closers)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function open(closers: (() => unknown)[]): Promise<Omit<SoakWorld, 'close'>> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-soak-'));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  const redis = await startRedis({ appendOnly: true });
  closers.push(() => redis.stop());
  const chain = createChain({ seed: 'soak', slotMs, market: { tradesPerSecond, newTokensPerSecond: 1 } });
  const nodes = await Promise.all(copies.map(() => startSimnet({ chain, autoStart: false })));
  for (const node of nodes) closers.push(() => node.close());
  closers.push(() => chain.stop());
  const { apiKey, publicKey } = await openAccounts(folder);
  const passphraseFile = join(folder, 'passphrase');
  writeFileSync(passphraseFile, `${passphrase}\n`, { mode: 0o600 });
  chain.start();
  chain.airdrop(publicKey, walletLamports);
  const env = {
    REDIS_URL: redis.url,
    SOLANA_RPC_URL: nodes.map(({ rpcUrl }) => rpcUrl).join(','),
    DATA_DIR: folder,
    HOST: '127.0.0.1',
    PORT: '0',
    METRICS_PORT: '0',
    TRADING: 'live',
    KEYSTORE_PASSPHRASE_FILE: passphraseFile,
    NODE_OPTIONS: preload,
  };
  const start = (path: string): RunningProgram => {
    const program = runProgram(path, { folder, env });
    closers.push(() => program.child.kill('SIGKILL'));
    return program;
  };
  const ingests = copies.map(() => start('ingest/src/main.ts'));
  const gateways = copies.map(() => start('cli/gateway.ts'));
  await Promise.all(ingests.map((ingest) => ingest.logged('ingest_started', readyWithinMs)));
  const urls = await Promise.all(gateways.map(async (gateway) => String((await gateway.logged('listening', readyWithinMs))['url'])));
  const watched = [
    ...(await Promise.all([
      ...ingests.map((program, at) => watch(`ingest ${at}`, program, caches.ingest)),
      ...gateways.map((program, at) => watch(`gateway ${at}`, program, caches.gateway)),
    ])),
    ...gateways.flatMap((program, at) => childrenOf(program.child.pid!).map((pid) => ({ name: `signer ${at}`, pid, own: null }))),
    { name: 'Redis', pid: redis.pid, own: null },
  ];
  return { hosts: urls.map((url) => new URL(url).host), apiKey, wallet: publicKey, watched };
}

async function openAccounts(folder: string): Promise<{ readonly apiKey: string; readonly publicKey: string }> {
  const store = await openEmbeddedStore(folder);
  try {
    const { key: apiKey } = await makeKey(store, { plan: 'enterprise' });
    const outcome = await openKeystore(store, keystoreName, passphrase, randomPassphraseCost);
    const { publicKey, seed } = wallet('soak', 'custodial');
    if (!outcome.ok || (await outcome.keystore.import(seed, null)) === null) throw new Error('no wallet was created');
    return { apiKey, publicKey };
  } finally {
    await store.close();
  }
}

async function watch(name: string, program: RunningProgram, own: readonly Cache[]): Promise<Watched> {
  const { port } = await program.logged('operations_listening', readyWithinMs);
  const base = `http://127.0.0.1:${String(port)}`;
  await until(`${name} to be ready`, async () => (await fetch(`${base}/readyz`)).status === 200, readyWithinMs);
  return { name, pid: program.child.pid!, own: { program, metricsUrl: `${base}/metrics`, caches: own } };
}
