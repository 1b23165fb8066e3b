import { isAbsolute } from 'node:path';
import { publicIpfsGateways } from '../../metadata/addresses.ts';
import { decodedVenueNames, defaultVenueNames } from '../../wire/venues.ts';
import type { Config } from '../config.ts';
import type { EnvFile } from '../env-file.ts';
import { isLoopback } from '../loopback.ts';
import { standardMemory } from '../memory-bounds.ts';
import { inQuotes, readSol, SettingReader } from '../setting-reader.ts';
import { readPlans } from './plans-file.ts';
import { readAllowedHosts, readCorsOrigins, readPublicUrl, readTrustedProxies } from './public-settings.ts';
import { readDataDir, readFileName, readTls } from './setting-files.ts';
import { checkNames } from './setting-names.ts';
import { readGrpc, readSources } from './source-settings.ts';
import type { SettingName } from './settings-table.ts';
import { readTips } from './tip-settings.ts';

export type SettingsOutcome =
  | { readonly ok: true; readonly config: Config }
  /** One sentence for each fault; it begins with the name of the setting. It never contains an address or a token. */
  | { readonly ok: false; readonly faults: readonly string[] };

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
/** 400 trades per second. A machine with two cores cannot simulate more and run sluice at the same time. */
const maxSimnetSpeed = 50;
/** As many as a gateway has connections. */
const maxCompressed = 50_000;
/** A gateway has 30 seconds to end, and needs the other 25 to close its connections and finish its orders. */
const maxDrainWaitSeconds = 5;
/** Longest path of a Unix socket on Linux. */
const maxPathLength = 107;

export interface SettingsOptions {
  /** Settings that this process requires, and why. */
  readonly requires?: Readonly<Partial<Record<SettingName, string>>>;
  /** The result of `loadEnvFile`. */
  readonly envFile?: EnvFile;
}

const noEnvFile: EnvFile = { names: [], fault: null };

/** Reads and checks all settings. An empty value is treated as not set. It reads files and opens no connection. */
export function readSettings(env: NodeJS.ProcessEnv, { requires = {}, envFile = noEnvFile }: SettingsOptions = {}): SettingsOutcome {
  const read = new SettingReader(env);
  if (envFile.fault !== null) read.fault('.env', envFile.fault);
  checkNames(env, envFile, read);
  const rpc = readRpc(read);
  const isSimnet = rpc === null;
  const grpc = readGrpc(rpc !== null, read);
  const venues = read.names('VENUES', decodedVenueNames);
  const lanes = { jitoUrl: read.url('JITO_URL'), senderUrl: read.url('SENDER_URL') };
  const listener = { host: read.host('HOST'), port: read.port('PORT'), tls: readTls(read) };
  // Only this machine can reach a gateway on the loopback, and on simnet nothing has a value.
  const keyless = isSimnet && isLoopback(listener.host) ? 'on' : 'off';
  const config: Config = {
    ...listener,
    redisUrls: readRedis(read),
    rpc,
    simnetSpeed: readSimnetSpeed(isSimnet, read),
    memory: standardMemory,
    venues: venues.length === 0 ? defaultVenueNames : venues,
    sources: readSources(grpc, read),
    settleBy: read.oneOf('SETTLE_BY', ['blocks', 'lists'], 'blocks'),
    grpc,
    dataDir: readDataDir(read),
    databaseUrl: readDatabase(read),
    trading: read.oneOf('TRADING', ['off', 'paper', 'live'], isSimnet ? 'live' : 'off'),
    keystorePassphraseFile: readFileName('KEYSTORE_PASSPHRASE_FILE', read),
    signerSocket: readPlace('SIGNER_SOCKET', read),
    signerDir: readPlace('SIGNER_DIR', read),
    signerLimits: readSignerLimits(read),
    broadcast: { ...lanes, ...readTips(lanes, read) },
    plans: readPlans(read),
    allowedHosts: readAllowedHosts(read),
    corsOrigins: readCorsOrigins(read),
    trustedProxies: readTrustedProxies(read),
    pumpPortalKeyless: read.oneOf('PUMPPORTAL_KEYLESS', ['on', 'off'], keyless) === 'on',
    compressedConnections: read.integer('COMPRESSED_CONNECTIONS', 100, 0, maxCompressed),
    publicUrl: readPublicUrl(listener, read),
    signUp: read.oneOf('SIGN_UP', ['open', 'closed'], isSimnet ? 'open' : 'closed'),
    operations: readOperations(read),
    ipfsGateways: readIpfsGateways(read),
    logLevel: read.oneOf('LOG_LEVEL', logLevels, 'info'),
  };
  for (const [name, why] of Object.entries(requires)) {
    if (read.get(name as SettingName) === null) read.fault(name, `missing; ${why}`);
  }
  return read.faults.length > 0 ? { ok: false, faults: read.faults } : { ok: true, config: deepFreeze(config) };
}

/** The folders of the store's and the signing processes' files, for what must work even if settings are wrong. They are not checked. */
export function readFolders(env: NodeJS.ProcessEnv): Pick<Config, 'dataDir' | 'signerDir'> {
  const read = new SettingReader(env);
  return { dataDir: readDataDir(read), signerDir: readPlace('SIGNER_DIR', read) };
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const inner of Object.values(value)) deepFreeze(inner);
    Object.freeze(value);
  }
  return value;
}

function readRpc(read: SettingReader): Config['rpc'] {
  const httpUrls = read.urls('SOLANA_RPC_URL', ['http:', 'https:']);
  const wsUrls = read.urls('SOLANA_WS_URL', ['ws:', 'wss:']);
  if (httpUrls === null) {
    if (wsUrls !== null) read.fault('SOLANA_WS_URL', 'requires SOLANA_RPC_URL');
    return null;
  }
  if (wsUrls !== null && wsUrls.length !== httpUrls.length) {
    const what = `${wsUrls.length} URLs for ${httpUrls.length} in SOLANA_RPC_URL. Give one for each RPC URL, or leave it empty`;
    read.fault('SOLANA_WS_URL', what);
  }
  return { httpUrls, wsUrls: wsUrls ?? httpUrls.map((url) => url.replace(/^http/i, 'ws')) };
}

function readRedis(read: SettingReader): readonly string[] | null {
  const urls = read.urls('REDIS_URL', ['redis:', 'rediss:']);
  if (urls === null || urls.length < 2) return urls;
  if (new Set(urls.map((url) => url.slice(0, url.indexOf(':')).toLowerCase())).size > 1) {
    read.fault('REDIS_URL', 'mixes redis:// and rediss://. Use the same scheme for all servers');
  }
  if (urls.some((url) => URL.canParse(url) && !['', '/', '/0'].includes(new URL(url).pathname))) {
    read.fault('REDIS_URL', 'names a database. With several servers, only database 0 is possible');
  }
  return urls;
}

function readSimnetSpeed(isSimnet: boolean, read: SettingReader): number {
  if (!isSimnet && read.get('SIMNET_SPEED') !== null) read.fault('SIMNET_SPEED', 'has no effect with SOLANA_RPC_URL. Remove one of them');
  return read.integer('SIMNET_SPEED', 1, 1, maxSimnetSpeed);
}

function readDatabase(read: SettingReader): string | null {
  if (read.get('DATABASE_URL')?.includes(',') === true) {
    read.fault('DATABASE_URL', 'has several URLs. Give one, because the store is one database');
  }
  return read.urls('DATABASE_URL', ['postgres:', 'postgresql:'])?.[0] ?? null;
}

/** Reads an absolute path, so that processes that run in different folders use the same file. */
function readPlace(name: 'SIGNER_SOCKET' | 'SIGNER_DIR', read: SettingReader): string | null {
  const path = read.get(name);
  if (path !== null && (!isAbsolute(path) || path.length > maxPathLength)) {
    read.fault(name, `${inQuotes(path)} is not an absolute path of at most ${maxPathLength} characters`);
  }
  return path;
}

function readSignerLimits(read: SettingReader): Config['signerLimits'] {
  const limit = (name: 'SIGNER_MAX_ORDER_SOL' | 'SIGNER_MAX_DAY_SOL', fallback: string): bigint => {
    const text = read.get(name) ?? fallback;
    const lamports = readSol(text) ?? 0n;
    if (lamports === 0n) read.fault(name, `${inQuotes(text)} is not an amount of SOL above 0 with at most nine decimals`);
    return lamports;
  };
  const limits = { maxOrderLamports: limit('SIGNER_MAX_ORDER_SOL', '101'), maxDayLamports: limit('SIGNER_MAX_DAY_SOL', '1000') };
  if (limits.maxDayLamports > 0n && limits.maxDayLamports < limits.maxOrderLamports) {
    read.fault('SIGNER_MAX_DAY_SOL', 'is less than SIGNER_MAX_ORDER_SOL. Set it at least as high');
  }
  return limits;
}

function readOperations(read: SettingReader): Config['operations'] {
  const hasPort = read.get('METRICS_PORT') !== null;
  if (!hasPort && read.get('METRICS_HOST') !== null) read.fault('METRICS_HOST', 'requires METRICS_PORT');
  const metrics = hasPort ? { host: read.host('METRICS_HOST'), port: read.port('METRICS_PORT') } : null;
  const sharePort = read.oneOf('SHARE_PORT', ['true', 'false'], 'false') === 'true';
  // With port 0, each process would get a different port.
  if (sharePort && read.get('PORT') === '0') read.fault('SHARE_PORT', 'requires a PORT other than 0, the same for all gateways');
  return { metrics, sharePort, drainWaitMs: read.integer('DRAIN_WAIT_SECONDS', 0, 0, maxDrainWaitSeconds) * 1_000 };
}

/** Reads the gateways, each with the slash at its end. `none`: nothing is fetched from IPFS. */
function readIpfsGateways(read: SettingReader): readonly string[] {
  if (read.get('IPFS_GATEWAYS') === null) return publicIpfsGateways;
  const entries = read.list('IPFS_GATEWAYS');
  if (entries.includes('none')) {
    if (entries.length > 1) read.fault('IPFS_GATEWAYS', 'has `none` together with gateways. Use one or the other');
    return [];
  }
  return entries.map((entry) => {
    const url = URL.canParse(entry) ? new URL(entry) : null;
    const isPlain = url !== null && ['http:', 'https:'].includes(url.protocol) && url.search === '' && url.hash === '';
    if (!isPlain || url.username !== '' || url.password !== '' || !/\/ipfs\/?$/.test(url.pathname)) {
      read.fault('IPFS_GATEWAYS', `${inQuotes(entry)} is not a gateway of the form https://host/ipfs/`);
      return entry;
    }
    return url.href.replace(/\/?$/, '/');
  });
}
