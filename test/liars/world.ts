import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openKeystore } from '@sluice/trading/signer/custody/keystore.ts';
import { randomPassphraseCost } from '@sluice/trading/signer/custody/seal.ts';
import { createRandom } from '../simnet/market/random.ts';
import { wallet } from '../simnet/runtime/wallets.ts';
import { createChain, type SimChain } from '../simnet/sim-chain.ts';
import { startSimnet } from '../simnet/simnet.ts';
import { until } from '../support/gateway.ts';
import { makeKey, openEmbeddedStore } from '../support/keys.ts';
import { runProgram, type RunningProgram } from '../support/processes.ts';
import { GrpcNode } from '../support/servers/grpc.ts';
import { launchCoin, maker, trader, type QuotedCoin } from '../support/chain/quoted-trades.ts';
import { startEndpoint, type Endpoint } from './endpoint.ts';

/** One chain, endpoints in front of it, and the product in one process that knows only these endpoints. */
export interface LiarsWorld {
  readonly chain: SimChain;
  readonly endpoints: readonly Endpoint[];
  readonly program: RunningProgram;
  readonly host: string;
  readonly apiKey: string;
  /** The key of the triggers, and their custodial wallets. */
  readonly triggerKey: string;
  readonly armedWallets: readonly string[];
  /** One custodial wallet trades each coin, in sequence. */
  readonly coins: readonly QuotedCoin[];
  readonly wallets: readonly string[];
  metrics(): Promise<string>;
  /** Bytes that the process has resident. */
  residentBytes(): number;
  /** How long it has waited for a core so far, in milliseconds. */
  stalledMs(): number;
  close(): Promise<void>;
}

export interface LiarsWorldOptions {
  readonly seed: string;
  readonly endpoints: number;
  readonly wallets: number;
}

/** Blocks come even faster, because each trade of the market makes one. */
const slotMs = 200;
const maxHonestDelayMs = 400;
const walletLamports = 10_000n * 10n ** 9n;
const armedWalletCount = 3;
const passphrase = 'a passphrase among liars';
/** Settings of a process that gets its nodes by address. */
const keystoreName = 'cluster';
const readyWithinMs = 60_000;

export async function openLiarsWorld(options: LiarsWorldOptions): Promise<LiarsWorld> {
  const closers: (() => unknown)[] = [];
  const close = async (): Promise<void> => {
    for (const end of closers.splice(0).toReversed()) await end();
  };
  try {
    return { ...(await open(options, closers)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function open(options: LiarsWorldOptions, closers: (() => unknown)[]): Promise<Omit<LiarsWorld, 'close'>> {
  const { seed } = options;
  const folder = mkdtempSync(join(tmpdir(), 'sluice-liars-'));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  const keypairs = Array.from({ length: options.wallets }, (_, at) => wallet('liars', `custodial ${at}`));
  const armedKeypairs = Array.from({ length: armedWalletCount }, (_, at) => wallet('liars', `armed ${at}`));
  const funded = [maker, trader, ...keypairs, ...armedKeypairs].map(({ publicKey: address }) => ({ address, lamports: walletLamports }));
  const chain = createChain({ seed, market: false, funded, slotMs });
  const coins = keypairs.map(() => launchCoin(chain));
  const node = await startSimnet({ chain, autoStart: false });
  closers.push(() => node.close());
  const sources = process.env['SOURCES'] ?? '';
  const hasGrpc = sources.split(',').includes('grpc');
  const endpoints: Endpoint[] = [];
  for (let at = 0; at < options.endpoints; at++) {
    const grpc = hasGrpc ? await GrpcNode.start() : null;
    const stopFollowing = grpc?.follow(chain);
    closers.push(() => stopFollowing?.());
    const endpoint = await startEndpoint(node.port, grpc, maxHonestDelayMs, createRandom(`${seed} endpoint ${at}`));
    closers.push(() => endpoint.close());
    endpoints.push(endpoint);
  }
  const store = await openEmbeddedStore(folder);
  const { key: apiKey } = await makeKey(store, { plan: 'enterprise' });
  const { key: triggerKey } = await makeKey(store, { plan: 'enterprise' });
  const outcome = await openKeystore(store, keystoreName, passphrase, randomPassphraseCost);
  if (!outcome.ok) throw new Error(outcome.reason);
  for (const { seed: secret } of [...keypairs, ...armedKeypairs]) await outcome.keystore.import(secret, null);
  await store.close();
  const passphraseFile = join(folder, 'passphrase');
  writeFileSync(passphraseFile, `${passphrase}\n`, { mode: 0o600 });
  chain.start();
  closers.push(() => chain.stop());
  const env = {
    SOLANA_RPC_URL: endpoints.map(({ httpUrl }) => httpUrl).join(','),
    SOLANA_WS_URL: endpoints.map(({ wsUrl }) => wsUrl).join(','),
    DATA_DIR: folder,
    HOST: '127.0.0.1',
    PORT: '0',
    METRICS_PORT: '0',
    TRADING: 'live',
    LOG_LEVEL: 'info',
    KEYSTORE_PASSPHRASE_FILE: passphraseFile,
    SOURCES: sources,
    ...(hasGrpc && { SOLANA_GRPC_URL: endpoints.map(({ grpc }) => grpc!.url).join(',') }),
  };
  const program = runProgram('cli/start.ts', { folder, env });
  closers.push(() => program.child.kill('SIGKILL'));
  const started = await program.logged('gateway_started', readyWithinMs);
  const host = `127.0.0.1:${String(started['port'])}`;
  const { port } = await program.logged('operations_listening', readyWithinMs);
  const operations = `http://127.0.0.1:${String(port)}`;
  await until('it to be ready', async () => (await fetch(`${operations}/readyz`)).status === 200, readyWithinMs);
  return {
    chain,
    endpoints,
    program,
    host,
    apiKey,
    triggerKey,
    armedWallets: armedKeypairs.map(({ publicKey }) => publicKey),
    coins,
    wallets: keypairs.map(({ publicKey }) => publicKey),
    metrics: async () => (await fetch(`${operations}/metrics`)).text(),
    residentBytes: () => residentBytes(program.child.pid!),
    stalledMs: () => stalledMs(program.child.pid!),
  };
}

function residentBytes(pid: number): number {
  const [, kilobytes] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  if (kilobytes === undefined) throw new Error(`the process ${pid} has ended`);
  return Number(kilobytes) * 1_024;
}

/** Only the main thread. On a system that does not count it: 0. */
function stalledMs(pid: number): number {
  const file = `/proc/${pid}/schedstat`;
  return existsSync(file) ? Number(readFileSync(file, 'utf8').split(' ')[1]) / 1e6 : 0;
}
