import { isAbsolute } from 'node:path';
import { publicIpfsGateways } from '../metadata/addresses.ts';
import { decodedVenueNames, type VenueName } from '../wire/venues.ts';
import { isAddress } from '../solana/encoding/base58.ts';
import { isLoopback } from './loopback.ts';
import { standardMemory } from './memory-bounds.ts';
import { inQuotes, readSol, type SettingReader } from './setting-reader.ts';
import { readPlans } from './settings/plans-file.ts';
import { readAllowedHosts, readCorsOrigins, readPublicUrl, readTrustedProxies } from './settings/public-settings.ts';
import { readDataDir, readFileName, readFolder, readTls } from './settings/setting-files.ts';
import { readGrpc, readSources, type SourceName, venuesOf } from './settings/source-settings.ts';
import { readTips } from './settings/tip-settings.ts';

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
/** 400 trades per second. A machine with two cores cannot simulate more and run sluice at the same time. */
const maxSimnetSpeed = 50;
/** As many as a gateway has connections. */
const maxCompressed = 50_000;
/** A gateway has 30 seconds to end, and needs the other 25 to close its connections and finish its orders. */
const maxDrainWaitSeconds = 5;
/** Longest path of a Unix socket on Linux. */
const maxPathLength = 107;

/** The settings of a process. They are read and checked once at the start, frozen, and passed down. */
export type Config = Readonly<ReturnType<typeof readConfig>>;

export function readConfig(read: SettingReader) {
  const rpc = readRpc(read);
  const isSimnet = rpc === null;
  const grpc = readGrpc(!isSimnet, read);
  const sources = readSources({ isSimnet, hasGrpc: grpc !== null }, read);
  const lanes = { jitoUrl: read.url('JITO_URL'), senderUrl: read.url('SENDER_URL') };
  const listener = { host: read.host('HOST'), port: read.port('PORT'), tls: readTls(read) };
  // Only this machine can reach a gateway on the loopback, and on simnet nothing has a value.
  const keyless = isSimnet && isLoopback(listener.host) ? 'on' : 'off';
  return {
    ...listener,
    /** Null: the bus is in this process. */
    redisUrls: readRedis(read),
    /** Null: the chain is simulated. Both lists have the same length. */
    rpc,
    /** Speed of simnet's market, 1 to 50; 1 on a real cluster. */
    simnetSpeed: readSimnetSpeed(isSimnet, read),
    memory: standardMemory,
    /** Null: by the sources. */
    venues: readVenues(sources, read),
    /** Pools that price SOL and other quote coins; null: those that are built in. */
    pricePools: readPricePools(read),
    /** How ingest reads the chain; null: by what the endpoints offer. */
    sources,
    /** By what a confirmed slot is settled, if no source reads whole blocks. */
    settleBy: read.oneOf('SETTLE_BY', ['blocks', 'lists'], 'blocks'),
    grpc,
    dataDir: readDataDir(read),
    databaseUrl: readDatabase(read),
    trading: read.oneOf('TRADING', ['off', 'paper', 'live'], isSimnet ? 'live' : 'off'),
    keystorePassphraseFile: readFileName('KEYSTORE_PASSPHRASE_FILE', read),
    /** Socket of a signing process that runs as a separate user; null: the gateway starts one itself. */
    signerSocket: readPlace('SIGNER_SOCKET', read),
    /** Folder of the audit logs and the operator's policy; null: in `dataDir`. */
    signerDir: readPlace('SIGNER_DIR', read),
    signerLimits: readSignerLimits(read),
    /** Where orders are sent in addition to the RPC nodes, and the tip for each in lamports; 0 if it is not set. */
    broadcast: { ...lanes, ...readTips(lanes, read) },
    plans: readPlans(read),
    /** Names that are accepted in `Host`, in addition to the listener's own; `['*']`: any. See `hostCheck`. */
    allowedHosts: readAllowedHosts(read),
    /** Origins whose pages may call the API from a browser; `['*']`: any. */
    corsOrigins: readCorsOrigins(read),
    /** Proxies (addresses or CIDR ranges) whose `X-Forwarded-For` is trusted. */
    trustedProxies: readTrustedProxies(read),
    pumpPortalKeyless: read.oneOf('PUMPPORTAL_KEYLESS', ['on', 'off'], keyless) === 'on',
    /** Stream connections whose messages may be compressed at the same time. */
    compressedConnections: read.integer('COMPRESSED_CONNECTIONS', 100, 0, maxCompressed),
    /** Public origin of the dashboard; null if it is not set and cannot be derived from HOST and PORT. */
    publicUrl: readPublicUrl(listener, read),
    signUp: read.oneOf('SIGN_UP', ['open', 'closed'], isSimnet ? 'open' : 'closed'),
    operations: readOperations(read),
    /** Folder of IDLs, `<program id>.json`; null: none. */
    idlDir: readFolder('IDL_DIR', read),
    /** Gateways of IPFS, each ending in `/ipfs/`, for the metadata of tokens. */
    ipfsGateways: readIpfsGateways(read),
    logLevel: read.oneOf('LOG_LEVEL', logLevels, 'info'),
  };
}

function readRpc(read: SettingReader) {
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

/** The venues that VENUES names. If it is not set: those that the sources can show. */
function readVenues(sources: readonly SourceName[] | null, read: SettingReader): readonly VenueName[] | null {
  const venues = read.names('VENUES', decodedVenueNames);
  if (venues.length > 0) return venues;
  return sources === null ? null : venuesOf(sources);
}

function readPricePools(read: SettingReader): readonly string[] | null {
  const pools = read.list('PRICE_POOLS');
  for (const pool of pools) if (!isAddress(pool)) read.fault('PRICE_POOLS', `${inQuotes(pool)} is not an address`);
  return pools.length === 0 ? null : pools;
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
export function readPlace(name: 'SIGNER_SOCKET' | 'SIGNER_DIR', read: SettingReader): string | null {
  const path = read.get(name);
  if (path !== null && (!isAbsolute(path) || path.length > maxPathLength)) {
    read.fault(name, `${inQuotes(path)} is not an absolute path of at most ${maxPathLength} characters`);
  }
  return path;
}

function readSignerLimits(read: SettingReader) {
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

function readOperations(read: SettingReader) {
  const hasPort = read.get('METRICS_PORT') !== null;
  if (!hasPort && read.get('METRICS_HOST') !== null) read.fault('METRICS_HOST', 'requires METRICS_PORT');
  const metrics = hasPort ? { host: read.host('METRICS_HOST'), port: read.port('METRICS_PORT') } : null;
  const sharePort = read.oneOf('SHARE_PORT', ['true', 'false'], 'false') === 'true';
  // With port 0, each process would get a different port.
  if (sharePort && read.get('PORT') === '0') read.fault('SHARE_PORT', 'requires a PORT other than 0, the same for all gateways');
  return {
    /** Where `/metrics`, `/livez` and `/readyz` are served without a key; null: only at the gateway's own port. */
    metrics,
    /** Other gateways of this machine may listen on the same port. */
    sharePort,
    /** Time between the signal to end and the end of the listener. */
    drainWaitMs: read.integer('DRAIN_WAIT_SECONDS', 0, 0, maxDrainWaitSeconds) * 1_000,
  };
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
