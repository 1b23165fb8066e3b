import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openKeystore, unlockKeystore, type Keystore } from '@sluice/trading/signer/custody/keystore.ts';
import { randomPassphraseCost } from '@sluice/trading/signer/custody/seal.ts';
import { signerFolder } from '@sluice/gateway/store/halt/halt-mark.ts';
import { checkAuditLogs } from '@sluice/trading/signer/audit/report.ts';
import type { Database } from '@sluice/gateway/store/sql/database.ts';
import { openPostgres } from '@sluice/gateway/store/sql/postgres.ts';
import { openSqlite } from '@sluice/gateway/store/sql/sqlite/sqlite.ts';
import { openStore, type Store } from '@sluice/gateway/store/store.ts';
import type { Keypair } from '@sluice/shared/solana/addresses/keypair.ts';
import { until } from '../support/gateway.ts';
import { makeKey } from '../support/keys.ts';
import { startPostgres } from '../support/servers/postgres.ts';
import { launchCoin, maker, moveToPool, trader, tradeOnChain, type QuotedCoin } from '../support/chain/quoted-trades.ts';
import { startRedis } from '../support/servers/redis.ts';
import { runProgram } from '../support/processes.ts';
import { wallet } from '../simnet/runtime/wallets.ts';
import { associatedTokenInstruction } from '../simnet/programs/token/associated-token.ts';
import { createChain, type SimChain } from '../simnet/sim-chain.ts';
import { startSimnet } from '../simnet/simnet.ts';
import { land } from '../simnet/support/test-chain.ts';
import { startGatewayProcess, type GatewayProcess } from './gateway-process.ts';
import { startNodeGate, type NodeGate } from './node-gate.ts';
import { installStall } from './store-stall.ts';

const passphrase = 'a passphrase of the crash test';
const keystoreName = 'cluster';
/** Faster than the network: an order is final after about five seconds, and expires after 23. */
const slotMs = 150;
const lamportsPerSol = 1_000_000_000n;
/** What a wallet gets, in lamports. */
const grantLamports = 5n * lamportsPerSol;
/** A million tokens. */
const tokensToSell = 1_000_000_000_000n;
const everything = 793_100_000_000_000n;
const anyPrice = 10n ** 14n;
const ingestWithinMs = 180_000;
/** Gateways that trade on one store at a time. */
export const laneCount = 2;

/** RPC nodes. No gateway trusts a single one. */
const nodeCount = 2;

/** One chain, one store, and gateways that are killed. */
export interface CrashWorld {
  readonly kind: StoreKind;
  readonly chain: SimChain;
  readonly gate: NodeGate;
  readonly store: Store;
  readonly db: Database;
  readonly apiKey: string;
  readonly keyId: string;
  /** Of the first lane. */
  readonly redisUrl: string;
  /** One coin on its curve, one in its pool. */
  readonly coins: readonly QuotedCoin[];
  /** Startup times so far. */
  readonly startsMs: readonly number[];
  /** Processes of both kinds that were killed. */
  readonly killed: { gateways: number; signers: number };
  /** A coin of its own, on its curve. */
  newCoin(): QuotedCoin;
  /** A custodial wallet with some SOL and, if a coin is named, some of that coin. */
  newWallet(tokensOf?: QuotedCoin): Promise<Keypair>;
  /** The gateway of a lane; it is started if none runs. */
  gateway(lane: number): Promise<GatewayProcess>;
  /** The running gateways, this lane's first. */
  urls(lane: number): readonly string[];
  /** Rejects if an audit log does not verify. */
  checkAudit(): Promise<void>;
  /** Files of all audit logs. */
  auditFiles(): readonly string[];
  close(): Promise<void>;
}

export type StoreKind = 'SQLite' | 'PostgreSQL';

type Closers = (() => unknown)[];
type LaneEnv = (lane: number) => Readonly<Record<string, string>>;

function logsIn(folder: string): readonly string[] {
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names.filter((name) => name.endsWith('.log')).map((name) => join(folder, name));
}

/** Data folders of the lanes: one for both with SQLite; with PostgreSQL one each, as on several machines, with the same pepper. */
interface Places {
  readonly dataDirs: readonly string[];
  readonly databaseUrl: string | null;
}

async function openPlaces(kind: StoreKind, folder: string, closers: Closers): Promise<Places> {
  if (kind === 'SQLite') return { dataDirs: Array.from({ length: laneCount }, () => join(folder, 'data')), databaseUrl: null };
  const postgres = await startPostgres();
  closers.push(() => postgres.stop());
  return {
    dataDirs: Array.from({ length: laneCount }, (_, lane) => join(folder, `data-${lane}`)),
    databaseUrl: await postgres.newDatabase(),
  };
}

function sharePepper([first = '', ...others]: readonly string[]): void {
  for (const other of others) {
    if (other === first) continue;
    mkdirSync(other, { recursive: true });
    copyFileSync(join(first, 'pepper'), join(other, 'pepper'));
  }
}

function openChain(closers: Closers): { chain: SimChain; coins: readonly QuotedCoin[] } {
  const funded = [maker, trader].map(({ publicKey: address }) => ({ address, lamports: 4_000_000n * lamportsPerSol, usdc: 10n ** 13n }));
  const chain = createChain({ seed: 'crash', market: false, funded, slotMs });
  const onCurve = launchCoin(chain);
  const inPool = launchCoin(chain);
  tradeOnChain(chain, inPool, 'pump', { exact: 'baseOut', amount: everything }, anyPrice);
  moveToPool(chain, inPool, false);
  closers.push(() => chain.stop());
  return { chain, coins: [onCurve, inPool] };
}

async function openKeys(store: Store): Promise<{ keystore: Keystore; keystoreKey: Uint8Array }> {
  const outcome = await openKeystore(store, keystoreName, passphrase, randomPassphraseCost);
  const stored = await store.wallets.keystore(keystoreName);
  const keystoreKey = stored === null ? null : await unlockKeystore(keystoreName, stored, passphrase);
  if (!outcome.ok || keystoreKey === null) throw new Error('the keystore does not open');
  return { keystore: outcome.keystore, keystoreKey };
}

/** Tokens to sell: bought by the wallet itself as long as nobody else sells for it. */
function buyTokens(chain: SimChain, coin: QuotedCoin, owner: Keypair): void {
  const { publicKey } = owner;
  const made = land(chain, [associatedTokenInstruction(publicKey, publicKey, coin.mint, coin.tokenProgram, true)], [owner]);
  const bought = tradeOnChain(chain, coin, 'pump', { exact: 'baseOut', amount: tokensToSell }, lamportsPerSol, owner);
  for (const { err, logs } of [made, bought]) if (err !== null) throw new Error(logs.join('\n'));
}

export interface CrashWorldOptions {
  /** Further settings of the gateway of a lane. */
  readonly laneEnv?: LaneEnv;
  /**
   * Both lanes use one Redis, so one gateway at a time holds the trading role. An ingest process, which nobody kills, publishes the events of
   * the chain.
   */
  readonly ingest?: boolean;
}

export async function openCrashWorld(kind: StoreKind, options: CrashWorldOptions = {}): Promise<CrashWorld> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-crash-'));
  const closers: Closers = [() => rmSync(folder, { recursive: true, force: true })];
  const close = async (): Promise<void> => {
    for (const end of closers.splice(0).toReversed()) await end();
  };
  try {
    return await openWorld(kind, folder, options, closers, close);
  } catch (error) {
    await close();
    throw error;
  }
}

const auditOptions = (place: { readonly dataDir: string }, keystoreKey: Uint8Array) => ({
  folder: signerFolder(place),
  keystore: keystoreName,
  keystoreKey,
});

async function startIngest(folder: string, env: Readonly<Record<string, string>>, closers: Closers): Promise<void> {
  const program = runProgram('ingest/src/main.ts', { folder, env });
  closers.push(() => program.stop());
  await program.logged('ingest_started', ingestWithinMs);
}

async function openWorld(
  kind: StoreKind,
  folder: string,
  { laneEnv = () => ({}), ingest = false }: CrashWorldOptions,
  closers: Closers,
  close: () => Promise<void>,
): Promise<CrashWorld> {
  // Without ingest each lane has a Redis of its own, so both gateways hold the trading role at once: the worst case, which a lease should
  // prevent.
  const [{ dataDirs, databaseUrl }, ...redises] = await Promise.all([
    openPlaces(kind, folder, closers),
    ...Array.from({ length: ingest ? 1 : laneCount }, () => startRedis()),
  ]);
  const redisUrls = dataDirs.map((_, lane) => redises[lane % redises.length]!.url);
  for (const redis of redises) closers.push(() => redis.stop());
  const { chain, coins } = openChain(closers);
  const nodes = await Promise.all(Array.from({ length: nodeCount }, () => startSimnet({ chain, autoStart: false })));
  for (const node of nodes) closers.push(() => node.close());
  const gate = await startNodeGate(nodes.map(({ rpcUrl }) => rpcUrl));
  closers.push(() => gate.close());
  const [dataDir = ''] = dataDirs;
  const store = await openStore({ dataDir, databaseUrl });
  closers.push(() => store.close());
  const db = await (databaseUrl === null ? openSqlite(join(dataDir, 'sluice.db')) : openPostgres(databaseUrl));
  closers.push(() => db.close());
  const { key: apiKey, id: keyId } = await makeKey(store, { plan: 'enterprise' });
  sharePepper(dataDirs);
  const { keystore, keystoreKey } = await openKeys(store);
  const passphraseFile = join(folder, 'passphrase');
  writeFileSync(passphraseFile, `${passphrase}\n`, { mode: 0o600 });
  const env = {
    SOLANA_RPC_URL: gate.urls.join(','),
    SOLANA_WS_URL: nodes.map(({ wsUrl }) => wsUrl).join(','),
    PORT: '0',
    TRADING: 'live',
    KEYSTORE_PASSPHRASE_FILE: passphraseFile,
    ...(databaseUrl === null ? {} : { DATABASE_URL: databaseUrl }),
  };
  const gateways: (Promise<GatewayProcess> | null)[] = dataDirs.map(() => null);
  const ready: (GatewayProcess | null)[] = dataDirs.map(() => null);
  // If one gateway did not start, the others are still closed.
  closers.push(() => Promise.allSettled(gateways.map(async (one) => (await one)?.isAlive === true && (await one)?.kill('both'))));
  const startsMs: number[] = [];
  const start = async (lane: number): Promise<GatewayProcess> => {
    ready[lane] = null;
    const laneOwn = { REDIS_URL: redisUrls[lane] ?? '', DATA_DIR: dataDirs[lane] ?? '', ...laneEnv(lane) };
    const started = await startGatewayProcess(folder, { ...env, ...laneOwn });
    startsMs.push(started.startMs);
    return (ready[lane] = started);
  };
  const auditPlaces = [...new Set(dataDirs)].map((place) => ({ auditHeads: store.auditHeads, databaseUrl, dataDir: place }));
  const reports = async () =>
    (await Promise.all(auditPlaces.map((place) => checkAuditLogs(place, auditOptions(place, keystoreKey))))).flat();
  let wallets = 0;
  await installStall(db, kind);
  chain.start();
  if (ingest) await startIngest(folder, { ...env, REDIS_URL: redisUrls[0] ?? '', DATA_DIR: dataDir }, closers);
  return {
    kind,
    chain,
    gate,
    store,
    db,
    apiKey,
    keyId,
    redisUrl: redisUrls[0] ?? '',
    coins,
    startsMs,
    killed: { gateways: 0, signers: 0 },
    newCoin: () => launchCoin(chain),
    newWallet: async (tokensOf) => {
      const keypair = wallet('crash', `custodial ${wallets++}`);
      if ((await keystore.import(keypair.seed, null)) === null) throw new Error('no wallet was made');
      chain.airdrop(keypair.publicKey, grantLamports);
      await until('the airdrop', () => chain.account(keypair.publicKey) !== null);
      if (tokensOf !== undefined) buyTokens(chain, tokensOf, keypair);
      return keypair;
    },
    gateway: async (lane) => {
      const known = await gateways[lane];
      if (known?.isAlive === true) return known;
      return await (gateways[lane] = start(lane));
    },
    urls: (lane) => [...ready.slice(lane), ...ready.slice(0, lane)].flatMap((one) => (one?.isAlive === true ? [one.url] : [])),
    checkAudit: async () => {
      const faults = (await reports()).filter(({ fault }) => fault !== null);
      if (faults.length > 0) throw new Error(`the audit log does not verify: ${JSON.stringify(faults)}`);
    },
    auditFiles: () => auditPlaces.flatMap((place) => logsIn(signerFolder(place))),
    close,
  };
}
