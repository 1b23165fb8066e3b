import type { EnvFile } from '../env-file.ts';
import type { SettingReader } from '../setting-reader.ts';
import { settingsTable } from './settings-table.ts';

const knownNames: ReadonlySet<string> = new Set(settingsTable.map((setting) => setting.name));
/** User programs, such as the examples of the client library, read the gateway's URL from this variable. It is no setting of sluice. */
const nameOfPrograms = 'SLUICE_URL';
/** Unknown names with these prefixes are treated as misspelt settings of sluice. */
const ourPrefixes = [
  'SLUICE_',
  'SOLANA_RPC',
  'SOLANA_WS',
  'SOLANA_GRPC',
  'TLS_CERT_',
  'TLS_KEY_',
  'DATA_DIR',
  'TRADING_',
  'KEYSTORE_',
  'SIGNER_',
  'JITO_URL',
  'SENDER_URL',
  'LOG_LEVEL',
  'PLANS_FILE',
  'CORS_ORIGIN',
  'TRUSTED_PROX',
  'DRAIN_WAIT',
];
/** Similar names of other programs: OpenSSL, service links of Kubernetes and Docker, numbered ports of process managers. */
const foreignName = /^SSL_|_SERVICE_HOST$|_SERVICE_PORT(_[A-Z0-9_]+)?$|_PORT$|_PORT_\d+_(TCP|UDP|SCTP)(_[A-Z]+)?$|^(HOST|PORT)\d+$/;
/** Names of at least this length match with two typing errors. Shorter ones match with one, not in the first letter. */
const longNameLength = 8;
/** The message suggests a setting if it differs by at most this many letters. */
const hintDistance = 6;

/**
 * Reports unknown names. `.env` belongs to sluice alone, so any unknown name in it is a fault. The environment is shared by many programs, so
 * only names that look like ours are faults.
 */
export function checkNames(env: NodeJS.ProcessEnv, envFile: EnvFile, read: SettingReader): void {
  const inFile = new Set(envFile.names);
  for (const name of [...new Set([...Object.keys(env), ...inFile])].toSorted()) {
    if (knownNames.has(name) || (name === nameOfPrograms && !inFile.has(name))) continue;
    const near = nearestName(name);
    if (!inFile.has(name) && !looksLikeOurs(name, near)) continue;
    const hint = near.distance <= hintDistance && near.distance < name.length / 2 ? `; did you mean ${near.name}?` : '';
    read.fault(name, `there is no such setting${inFile.has(name) ? ' (.env)' : ''}${hint}`);
  }
}

interface Near {
  readonly name: string;
  readonly distance: number;
}

function looksLikeOurs(name: string, near: Near): boolean {
  if (foreignName.test(name)) return false;
  if (ourPrefixes.some((prefix) => name.startsWith(prefix))) return true;
  return near.name.length < longNameLength ? near.distance <= 1 && near.name[0] === name[0] : near.distance <= 2;
}

function nearestName(name: string): Near {
  let best: Near = { name: '', distance: Number.POSITIVE_INFINITY };
  for (const known of knownNames) {
    const distance = editDistance(name, known);
    if (distance < best.distance) best = { name: known, distance };
  }
  return best;
}

/** How many letters differ: inserted, omitted, replaced, or exchanged with their neighbour. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitute = (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isExchange = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const exchange = isExchange ? (beforeLast[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY;
      row.push(Math.min(substitute, exchange, (last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    [beforeLast, last] = [last, row];
  }
  return last[b.length] ?? 0;
}
