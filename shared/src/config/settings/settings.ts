import type { Config } from '../config.ts';
import type { EnvFile } from '../env-file.ts';
import { inQuotes, type Fault, type Get } from '../fault.ts';
import { isLoopback } from '../loopback.ts';
import { standardMemory } from '../memory-bounds.ts';
import { readPlans } from './plans-file.ts';
import { readIpfsGateways } from './metadata-settings.ts';
import { readOperations, type OperationsReaders } from './operations-settings.ts';
import { readAllowedHosts, readCorsOrigins, readPublicUrl, readTrustedProxies } from './public-settings.ts';
import { readPlace, readSignerLimits } from './signer-settings.ts';
import { readDataDir, readFileName, readTls } from './setting-files.ts';
import { isHost } from './host-name.ts';
import { checkNames } from './setting-names.ts';
import { readGrpc, readSources } from './source-settings.ts';
import { readVenues } from './venue-settings.ts';
import type { SettingName } from './settings-table.ts';
import { readTips } from './tip-settings.ts';

export type SettingsOutcome =
  | { readonly ok: true; readonly config: Config }
  /** One sentence for each fault; it begins with the name of the setting. It never contains an address or a token. */
  | { readonly ok: false; readonly faults: readonly string[] };

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
const tradingModes = ['off', 'paper', 'live'] as const;
const signUps = ['open', 'closed'] as const;
const settleBys = ['blocks', 'lists'] as const;
const switches = ['on', 'off'] as const;
/** 400 trades per second. A machine with two cores cannot simulate more and run sluice at the same time. */
const maxSimnetSpeed = 50;
/** Addresses in one comma-separated setting. */
const maxUrls = 16;
/** As many as a gateway has connections. */
const maxCompressed = 50_000;

export interface SettingsOptions {
  /** Settings that this process requires, and why. */
  readonly requires?: Readonly<Partial<Record<SettingName, string>>>;
  /** The result of `loadEnvFile`. */
  readonly envFile?: EnvFile;
}

const noEnvFile: EnvFile = { names: [], fault: null };

/** Reads and checks all settings. An empty value is treated as not set. It reads files and opens no connection. */
export function readSettings(env: NodeJS.ProcessEnv, { requires = {}, envFile = noEnvFile }: SettingsOptions = {}): SettingsOutcome {
  const faults: string[] = [];
  const fault: Fault = (name, what) => void faults.push(`${name}: ${what}`);
  const get: Get = (name) => env[name]?.trim() || null;

  if (envFile.fault !== null) fault('.env', envFile.fault);
  checkNames(env, envFile, fault);
  const rpc = readRpc(get, fault);
  const grpc = readGrpc(readUrls('SOLANA_GRPC_URL', ['http:', 'https:'], get, fault), rpc !== null, get, fault);
  const lanes = { jitoUrl: readUrl('JITO_URL', get, fault), senderUrl: readUrl('SENDER_URL', get, fault) };
  const readers: OperationsReaders = { host: (name) => readHost(name, get, fault), port: (name) => readPort(name, get, fault) };
  const listener = { host: readers.host('HOST'), port: readers.port('PORT'), tls: readTls(get, fault) };
  const config: Config = {
    ...listener,
    redisUrls: readRedis(get, fault),
    rpc,
    simnetSpeed: readSimnetSpeed(rpc === null, get, fault),
    memory: standardMemory,
    venues: readVenues(get, fault),
    sources: readSources(grpc, get, fault),
    settleBy: readOneOf('SETTLE_BY', settleBys, get, fault) ?? 'blocks',
    grpc,
    dataDir: readDataDir(get, fault),
    databaseUrl: readDatabase(get, fault),
    trading: readOneOf('TRADING', tradingModes, get, fault) ?? (rpc === null ? 'live' : 'off'),
    keystorePassphraseFile: readFileName('KEYSTORE_PASSPHRASE_FILE', get, fault),
    signerSocket: readPlace('SIGNER_SOCKET', get, fault),
    signerDir: readPlace('SIGNER_DIR', get, fault),
    signerLimits: readSignerLimits(get, fault),
    broadcast: { ...lanes, ...readTips(lanes, get, fault) },
    plans: readPlans(get, fault),
    allowedHosts: readAllowedHosts(get, fault),
    corsOrigins: readCorsOrigins(get, fault),
    trustedProxies: readTrustedProxies(get, fault),
    pumpPortalKeyless: (readOneOf('PUMPPORTAL_KEYLESS', switches, get, fault) ?? keylessDefault(rpc, listener.host)) === 'on',
    compressedConnections: readCompressed(get, fault),
    publicUrl: readPublicUrl(listener, get, fault),
    signUp: readOneOf('SIGN_UP', signUps, get, fault) ?? (rpc === null ? 'open' : 'closed'),
    operations: readOperations(readers, get, fault),
    ipfsGateways: readIpfsGateways(get, fault),
    logLevel: readOneOf('LOG_LEVEL', logLevels, get, fault) ?? 'info',
  };
  for (const [name, why] of Object.entries(requires)) {
    if (get(name as SettingName) === null) fault(name, `missing; ${why}`);
  }
  return faults.length > 0 ? { ok: false, faults } : { ok: true, config: deepFreeze(config) };
}

/** The folders of the store's and the signing processes' files, for what must work even if settings are wrong. They are not checked. */
export function readFolders(env: NodeJS.ProcessEnv): Pick<Config, 'dataDir' | 'signerDir'> {
  const unchecked: Fault = () => undefined;
  const get: Get = (name) => env[name]?.trim() || null;
  return { dataDir: readDataDir(get, unchecked), signerDir: readPlace('SIGNER_DIR', get, unchecked) };
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const inner of Object.values(value)) deepFreeze(inner);
    Object.freeze(value);
  }
  return value;
}

/** Only this machine can reach a gateway on the loopback, and on simnet nothing has a value. */
function keylessDefault(rpc: Config['rpc'], host: string): 'on' | 'off' {
  return rpc === null && isLoopback(host) ? 'on' : 'off';
}

function readCompressed(get: Get, fault: Fault): number {
  const text = get('COMPRESSED_CONNECTIONS') ?? '100';
  const count = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(count <= maxCompressed)) fault('COMPRESSED_CONNECTIONS', `${inQuotes(text)} is not a whole number from 0 to ${maxCompressed}`);
  return count;
}

function readHost(name: SettingName, get: Get, fault: Fault): string {
  const host = get(name) ?? '127.0.0.1';
  if (!isHost(host)) fault(name, `${inQuotes(host)} is neither an IP address nor a host name`);
  return host;
}

function readPort(name: SettingName, get: Get, fault: Fault): number {
  const text = get(name) ?? '8080';
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(port <= 65_535)) fault(name, `${inQuotes(text)} is not a port, 0 to 65535`);
  return port;
}

function readOneOf<T extends string>(name: SettingName, allowed: readonly T[], get: Get, fault: Fault): T | null {
  const text = get(name);
  if (text === null) return null;
  const found = allowed.find((value) => value === text);
  if (found === undefined) fault(name, `${inQuotes(text)} must be one of ${allowed.join(', ')}`);
  return found ?? null;
}

function readRpc(get: Get, fault: Fault): Config['rpc'] {
  const httpUrls = readUrls('SOLANA_RPC_URL', ['http:', 'https:'], get, fault);
  const wsUrls = readUrls('SOLANA_WS_URL', ['ws:', 'wss:'], get, fault);
  if (httpUrls === null) {
    if (wsUrls !== null) fault('SOLANA_WS_URL', 'requires SOLANA_RPC_URL');
    return null;
  }
  if (wsUrls !== null && wsUrls.length !== httpUrls.length) {
    fault('SOLANA_WS_URL', `${wsUrls.length} URLs for ${httpUrls.length} in SOLANA_RPC_URL. Give one for each RPC URL, or leave it empty`);
  }
  return { httpUrls, wsUrls: wsUrls ?? httpUrls.map((url) => url.replace(/^http/i, 'ws')) };
}

function readRedis(get: Get, fault: Fault): readonly string[] | null {
  const urls = readUrls('REDIS_URL', ['redis:', 'rediss:'], get, fault);
  if (urls === null || urls.length < 2) return urls;
  if (new Set(urls.map((url) => url.slice(0, url.indexOf(':')).toLowerCase())).size > 1) {
    fault('REDIS_URL', 'mixes redis:// and rediss://. Use the same scheme for all servers');
  }
  if (urls.some((url) => URL.canParse(url) && !['', '/', '/0'].includes(new URL(url).pathname))) {
    fault('REDIS_URL', 'names a database. With several servers, only database 0 is possible');
  }
  return urls;
}

function readSimnetSpeed(simulated: boolean, get: Get, fault: Fault): number {
  const text = get('SIMNET_SPEED');
  if (text === null) return 1;
  if (!simulated) fault('SIMNET_SPEED', 'has no effect with SOLANA_RPC_URL. Remove one of them');
  const speed = Number(text);
  if (/^\d{1,3}$/.test(text) && speed >= 1 && speed <= maxSimnetSpeed) return speed;
  fault('SIMNET_SPEED', `${inQuotes(text)} is not a whole number from 1 to ${maxSimnetSpeed}`);
  return 1;
}

function readDatabase(get: Get, fault: Fault): string | null {
  const text = get('DATABASE_URL');
  if (text !== null && text.includes(',')) fault('DATABASE_URL', 'has several URLs. Give one, because the store is one database');
  const [url] = readUrls('DATABASE_URL', ['postgres:', 'postgresql:'], get, fault) ?? [];
  return url ?? null;
}

/** Reads one HTTP address. */
function readUrl(name: SettingName, get: Get, fault: Fault): string | null {
  const urls = readUrls(name, ['http:', 'https:'], get, fault);
  if (urls !== null && urls.length > 1) fault(name, 'has several URLs. Give one');
  return urls?.[0] ?? null;
}

/** Addresses may contain passwords and keys, so a fault gives the place in the list, never the text. */
function readUrls(name: SettingName, schemes: readonly string[], get: Get, fault: Fault): readonly string[] | null {
  const text = get(name);
  if (text === null) return null;
  const urls = text.split(',').map((url) => url.trim());
  const schemeText = schemes.map((scheme) => `${scheme}//`).join(' or ');
  if (urls.length > maxUrls) fault(name, `has ${urls.length} URLs. The maximum is ${maxUrls}`);
  for (const [index, url] of urls.entries()) {
    const which = urls.length === 1 ? 'its value' : `URL ${index + 1} of ${urls.length}`;
    if (!URL.canParse(url)) fault(name, `${which} is not a URL of the form ${schemeText}host`);
    else if (!schemes.includes(new URL(url).protocol)) fault(name, `${which} does not begin with ${schemeText}`);
    else if (new URL(url).hostname === '') fault(name, `${which} has no host`);
  }
  if (new Set(urls).size < urls.length) fault(name, 'has the same URL twice');
  return urls;
}
