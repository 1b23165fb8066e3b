import { accessSync, constants, statSync, type Stats } from 'node:fs';
import type { Config } from './config.ts';
import { settingsTable, type SettingName } from './settings-table.ts';

export type SettingsOutcome =
  | { readonly ok: true; readonly config: Config }
  /** One sentence for each fault, beginning with the setting's name. Never contains an address or a token. */
  | { readonly ok: false; readonly faults: readonly string[] };

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
const tradingModes = ['off', 'paper', 'live'] as const;
/** Addresses in one comma-separated setting. */
const maxUrls = 16;

const knownNames: ReadonlySet<string> = new Set(settingsTable.map((setting) => setting.name));
/** An unknown name that begins so was meant for us; others belong to other programs. */
const ourPrefixes = ['SLUICE_', 'SOLANA_', 'REDIS_', 'TLS_', 'DATABASE_', 'DATA_DIR', 'TRADING', 'KEYSTORE_', 'LOG_LEVEL'];
/** Set by others under a prefix of ours: service links of Kubernetes and Docker, and Solana's own tools. */
const foreignName = /_SERVICE_HOST$|_SERVICE_PORT(_[A-Z0-9_]+)?$|_PORT$|_PORT_\d+_(TCP|UDP|SCTP)(_[A-Z]+)?$|^SOLANA_METRICS_CONFIG$/;
const hostForm = /^(?=.{1,253}$)([A-Za-z0-9_](?:[A-Za-z0-9_-]{0,62})(?:\.[A-Za-z0-9_][A-Za-z0-9_-]{0,62})*\.?|[0-9A-Fa-f:.%]+)$/;

type Fault = (name: string, what: string) => void;
type Get = (name: SettingName) => string | null;

/** Reads and checks every setting; an empty value counts as not set. Looks at files, opens no connection. */
export function readSettings(env: NodeJS.ProcessEnv): SettingsOutcome {
  const faults: string[] = [];
  const fault: Fault = (name, what) => void faults.push(`${name}: ${what}`);
  const get: Get = (name) => env[name]?.trim() || null;

  checkNames(env, fault);
  const rpc = readRpc(get, fault);
  const config: Config = {
    host: readHost(get, fault),
    port: readPort(get, fault),
    tls: readTls(get, fault),
    redisUrls: readRedis(get, fault),
    rpc,
    grpc: readGrpc(get, fault),
    dataDir: readDataDir(get, fault),
    databaseUrl: readDatabase(get, fault),
    trading: readOneOf('TRADING', tradingModes, get, fault) ?? (rpc === null ? 'live' : 'off'),
    keystorePassphraseFile: readFileName('KEYSTORE_PASSPHRASE_FILE', get, fault),
    logLevel: readOneOf('LOG_LEVEL', logLevels, get, fault) ?? 'info',
  };
  return faults.length > 0 ? { ok: false, faults } : { ok: true, config: deepFreeze(config) };
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const inner of Object.values(value)) deepFreeze(inner);
    Object.freeze(value);
  }
  return value;
}

function checkNames(env: NodeJS.ProcessEnv, fault: Fault): void {
  for (const name of Object.keys(env).toSorted()) {
    if (knownNames.has(name) || foreignName.test(name) || !ourPrefixes.some((prefix) => name.startsWith(prefix))) continue;
    const near = nearestName(name);
    fault(name, `there is no such setting${near === null ? '' : `; did you mean ${near}?`}`);
  }
}

function nearestName(name: string): string | null {
  let best: string | null = null;
  let bestDistance = 4;
  for (const known of knownNames) {
    const distance = editDistance(name, known);
    if (distance < bestDistance) [best, bestDistance] = [known, distance];
  }
  return best;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitute = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(substitute, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/** For values that are no secret. */
function shown(value: string): string {
  return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
}

function readHost(get: Get, fault: Fault): string {
  const host = get('HOST') ?? '127.0.0.1';
  if (!hostForm.test(host)) fault('HOST', `${shown(host)} is neither an IP address nor a host name`);
  return host;
}

function readPort(get: Get, fault: Fault): number {
  const text = get('PORT') ?? '8080';
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(port <= 65_535)) fault('PORT', `${shown(text)} is no port, 0 to 65535`);
  return port;
}

function readOneOf<T extends string>(name: SettingName, allowed: readonly T[], get: Get, fault: Fault): T | null {
  const text = get(name);
  if (text === null) return null;
  const found = allowed.find((value) => value === text);
  if (found === undefined) fault(name, `${shown(text)} is none of ${allowed.join(', ')}`);
  return found ?? null;
}

function readTls(get: Get, fault: Fault): Config['tls'] {
  const certFile = readFileName('TLS_CERT_FILE', get, fault);
  const keyFile = readFileName('TLS_KEY_FILE', get, fault);
  if (certFile !== null && keyFile !== null) return { certFile, keyFile };
  if (certFile !== null) fault('TLS_KEY_FILE', 'missing; TLS_CERT_FILE needs it');
  if (keyFile !== null) fault('TLS_CERT_FILE', 'missing; TLS_KEY_FILE needs it');
  return null;
}

function readFileName(name: SettingName, get: Get, fault: Fault): string | null {
  const file = get(name);
  if (file === null) return null;
  const stats = statsOf(file);
  if (stats === undefined) fault(name, `there is no file ${shown(file)}, or none that this user may see`);
  else if (!stats.isFile()) fault(name, `${shown(file)} is not a file`);
  else if (stats.size === 0) fault(name, `${shown(file)} is empty`);
  else if (!isAccessible(file, constants.R_OK)) fault(name, `${shown(file)} cannot be read`);
  return file;
}

function readDataDir(get: Get, fault: Fault): string {
  const dir = get('DATA_DIR') ?? '.data';
  const stats = statsOf(dir);
  if (stats !== undefined && !stats.isDirectory()) fault('DATA_DIR', `${shown(dir)} is not a folder`);
  else if (stats !== undefined && !isAccessible(dir, constants.R_OK | constants.W_OK)) {
    fault('DATA_DIR', `${shown(dir)} cannot be read and written`);
  }
  return dir;
}

/** Undefined where there is nothing, or nothing that this user may see. */
function statsOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

function isAccessible(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
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
    fault('REDIS_URL', 'mixes redis:// and rediss://; the nodes of a cluster are reached in one way');
  }
  if (urls.some((url) => URL.canParse(url) && !['', '/', '/0'].includes(new URL(url).pathname))) {
    fault('REDIS_URL', 'names a database; a cluster has only database 0');
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

function readDatabase(get: Get, fault: Fault): string | null {
  const [url] = readUrls('DATABASE_URL', ['postgres:', 'postgresql:'], get, fault) ?? [];
  if (url === undefined) return null;
  fault('DATABASE_URL', 'this version has no PostgreSQL store; leave it out');
  return url;
}

/** Addresses may carry passwords and keys: a fault tells the place in the list, never the text. */
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
