import { isIP } from 'node:net';
import type { Config } from './config.ts';
import type { EnvFile } from './env-file.ts';
import { shown, type Fault, type Get } from './fault.ts';
import { standardMemory } from './memory-bounds.ts';
import { readPlans } from './plans-file.ts';
import { readOperations, type OperationsReaders } from './operations-settings.ts';
import { readCorsOrigins, readPublicUrl, readTrustedProxies } from './public-settings.ts';
import { readPlace, readSignerLimits } from './signer-settings.ts';
import { readDataDir, readFileName, readTls } from './setting-files.ts';
import { checkNames } from './setting-names.ts';
import type { SettingName } from './settings-table.ts';
import { readTips } from './tip-settings.ts';

export type SettingsOutcome =
  | { readonly ok: true; readonly config: Config }
  /** One sentence for each fault, beginning with the setting's name. Never contains an address or a token. */
  | { readonly ok: false; readonly faults: readonly string[] };

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
const tradingModes = ['off', 'paper', 'live'] as const;
const signUps = ['open', 'closed'] as const;
/** 400 trades a second: more than a machine with two cores carries beside the product. */
const maxSimnetSpeed = 50;
/** Addresses in one comma-separated setting. */
const maxUrls = 16;

const hostNameForm = /^(?=.{1,253}$)[A-Za-z0-9_][A-Za-z0-9_-]{0,62}(?:\.[A-Za-z0-9_][A-Za-z0-9_-]{0,62})*\.?$/;
/** A name that ends so is read as an IPv4 address, and is one or nothing. */
const endsInNumber = /(?:^|\.)\d+\.?$/;

export interface SettingsOptions {
  /** What this process cannot do without, and what it needs it for. */
  readonly requires?: Readonly<Partial<Record<SettingName, string>>>;
  /** What `loadEnvFile` found. */
  readonly envFile?: EnvFile;
}

const noEnvFile: EnvFile = { names: [], fault: null };

/** Reads and checks every setting; an empty value counts as not set. Looks at files, opens no connection. */
export function readSettings(env: NodeJS.ProcessEnv, { requires = {}, envFile = noEnvFile }: SettingsOptions = {}): SettingsOutcome {
  const faults: string[] = [];
  const fault: Fault = (name, what) => void faults.push(`${name}: ${what}`);
  const get: Get = (name) => env[name]?.trim() || null;

  if (envFile.fault !== null) fault('.env', envFile.fault);
  checkNames(env, envFile, fault);
  const rpc = readRpc(get, fault);
  const lanes = { jitoUrl: readUrl('JITO_URL', get, fault), senderUrl: readUrl('SENDER_URL', get, fault) };
  const readers: OperationsReaders = { host: (name) => readHost(name, get, fault), port: (name) => readPort(name, get, fault) };
  const listener = { host: readers.host('HOST'), port: readers.port('PORT'), tls: readTls(get, fault) };
  const config: Config = {
    ...listener,
    redisUrls: readRedis(get, fault),
    rpc,
    simnetSpeed: readSimnetSpeed(rpc === null, get, fault),
    memory: standardMemory,
    grpc: readGrpc(get, fault),
    dataDir: readDataDir(get, fault),
    databaseUrl: readDatabase(get, fault),
    trading: readOneOf('TRADING', tradingModes, get, fault) ?? (rpc === null ? 'live' : 'off'),
    keystorePassphraseFile: readFileName('KEYSTORE_PASSPHRASE_FILE', get, fault),
    signerSocket: readPlace('SIGNER_SOCKET', get, fault),
    signerDir: readPlace('SIGNER_DIR', get, fault),
    signerLimits: readSignerLimits(get, fault),
    broadcast: { ...lanes, ...readTips(lanes, get, fault) },
    plans: readPlans(get, fault),
    corsOrigins: readCorsOrigins(get, fault),
    trustedProxies: readTrustedProxies(get, fault),
    publicUrl: readPublicUrl(listener, get, fault),
    signUp: readOneOf('SIGN_UP', signUps, get, fault) ?? (rpc === null ? 'open' : 'closed'),
    operations: readOperations(readers, get, fault),
    logLevel: readOneOf('LOG_LEVEL', logLevels, get, fault) ?? 'info',
  };
  for (const [name, why] of Object.entries(requires)) {
    if (get(name as SettingName) === null) fault(name, `missing; ${why}`);
  }
  return faults.length > 0 ? { ok: false, faults } : { ok: true, config: deepFreeze(config) };
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const inner of Object.values(value)) deepFreeze(inner);
    Object.freeze(value);
  }
  return value;
}

function readHost(name: SettingName, get: Get, fault: Fault): string {
  const host = get(name) ?? '127.0.0.1';
  const isHost = isIP(host) !== 0 || (hostNameForm.test(host) && !endsInNumber.test(host));
  if (!isHost) fault(name, `${shown(host)} is neither an IP address nor a host name`);
  return host;
}

function readPort(name: SettingName, get: Get, fault: Fault): number {
  const text = get(name) ?? '8080';
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(port <= 65_535)) fault(name, `${shown(text)} is no port, 0 to 65535`);
  return port;
}

function readOneOf<T extends string>(name: SettingName, allowed: readonly T[], get: Get, fault: Fault): T | null {
  const text = get(name);
  if (text === null) return null;
  const found = allowed.find((value) => value === text);
  if (found === undefined) fault(name, `${shown(text)} is none of ${allowed.join(', ')}`);
  return found ?? null;
}

function readRpc(get: Get, fault: Fault): Config['rpc'] {
  const httpUrls = readUrls('SOLANA_RPC_URL', ['http:', 'https:'], get, fault);
  const wsUrls = readUrls('SOLANA_WS_URL', ['ws:', 'wss:'], get, fault);
  if (httpUrls === null) {
    if (wsUrls !== null) fault('SOLANA_WS_URL', 'needs SOLANA_RPC_URL');
    return null;
  }
  if (wsUrls !== null && wsUrls.length !== httpUrls.length) {
    fault('SOLANA_WS_URL', `has ${wsUrls.length} addresses, SOLANA_RPC_URL has ${httpUrls.length}; each needs its own`);
  }
  return { httpUrls, wsUrls: wsUrls ?? httpUrls.map((url) => url.replace(/^http/i, 'ws')) };
}

function readRedis(get: Get, fault: Fault): readonly string[] | null {
  const urls = readUrls('REDIS_URL', ['redis:', 'rediss:'], get, fault);
  if (urls === null || urls.length < 2) return urls;
  if (new Set(urls.map((url) => url.slice(0, url.indexOf(':')).toLowerCase())).size > 1) {
    fault('REDIS_URL', 'mixes redis:// and rediss://; several servers are reached in one way');
  }
  if (urls.some((url) => URL.canParse(url) && !['', '/', '/0'].includes(new URL(url).pathname))) {
    fault('REDIS_URL', 'names a database; several servers have only database 0');
  }
  return urls;
}

function readGrpc(get: Get, fault: Fault): Config['grpc'] {
  const [url] = readUrls('SOLANA_GRPC_URL', ['http:', 'https:'], get, fault) ?? [];
  const token = get('SOLANA_GRPC_TOKEN');
  if (url === undefined) {
    if (token !== null) fault('SOLANA_GRPC_TOKEN', 'needs SOLANA_GRPC_URL');
    return null;
  }
  fault('SOLANA_GRPC_URL', 'this version has no gRPC source; leave it out');
  return { url, token };
}

function readSimnetSpeed(simulated: boolean, get: Get, fault: Fault): number {
  const text = get('SIMNET_SPEED');
  if (text === null) return 1;
  if (!simulated) fault('SIMNET_SPEED', 'has no effect with SOLANA_RPC_URL; leave one of them out');
  const speed = Number(text);
  if (/^\d{1,3}$/.test(text) && speed >= 1 && speed <= maxSimnetSpeed) return speed;
  fault('SIMNET_SPEED', `${shown(text)} is not a whole number from 1 to ${maxSimnetSpeed}`);
  return 1;
}

function readDatabase(get: Get, fault: Fault): string | null {
  const text = get('DATABASE_URL');
  if (text !== null && text.includes(',')) fault('DATABASE_URL', 'names several addresses; the store is one database');
  const [url] = readUrls('DATABASE_URL', ['postgres:', 'postgresql:'], get, fault) ?? [];
  return url ?? null;
}

/** One address over HTTP. */
function readUrl(name: SettingName, get: Get, fault: Fault): string | null {
  const urls = readUrls(name, ['http:', 'https:'], get, fault);
  if (urls !== null && urls.length > 1) fault(name, 'names several addresses; one is taken');
  return urls?.[0] ?? null;
}

/** Addresses may carry passwords and keys: a fault names the place in the list, never the text. */
function readUrls(name: SettingName, schemes: readonly string[], get: Get, fault: Fault): readonly string[] | null {
  const text = get(name);
  if (text === null) return null;
  const urls = text.split(',').map((url) => url.trim());
  const schemeText = schemes.map((scheme) => `${scheme}//`).join(' or ');
  if (urls.length > maxUrls) fault(name, `has ${urls.length} addresses, at most ${maxUrls} are taken`);
  for (const [index, url] of urls.entries()) {
    const which = urls.length === 1 ? 'its value' : `address ${index + 1} of ${urls.length}`;
    if (!URL.canParse(url)) fault(name, `${which} is not an address of the form ${schemeText}host`);
    else if (!schemes.includes(new URL(url).protocol)) fault(name, `${which} does not begin with ${schemeText}`);
    else if (new URL(url).hostname === '') fault(name, `${which} names no host`);
  }
  if (new Set(urls).size < urls.length) fault(name, 'names an address twice');
  return urls;
}
