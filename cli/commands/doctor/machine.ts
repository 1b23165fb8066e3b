import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { readPassphrase } from '@sluice/trading/signer/custody/passphrase.ts';
import { needsPepper, openKeyHash } from '@sluice/gateway/auth/pepper.ts';
import { storeFault } from '@sluice/gateway/store/backup/back-up.ts';
import { loadUws } from '@sluice/gateway/transport/uws-load.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import { withStore } from '../store/with-store.ts';
import { clockFindings, fail, ok, reason, tried, warn, type Finding } from './finding.ts';

const leastNode = [20, 19] as const;

export function checkNode(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const isOld = major < leastNode[0] || (major === leastNode[0] && minor < leastNode[1]);
  const detail = `Node.js ${process.versions.node}`;
  return isOld ? fail('node', `${detail}; ${leastNode.join('.')} or later is required`) : ok('node', detail);
}

/** The native server is loaded only if its hash is the pinned one. Otherwise the slower server on node:http is used. */
export function checkNativeServer(): Finding {
  const load = loadUws();
  if (load.kind === 'loaded') return ok('native server', 'uWebSockets.js loads, and its hash is the pinned one');
  if (load.reason === 'hash_mismatch')
    return fail('native server', `its hash is not the pinned one (SHA-256 ${load.detail}); install the packages again`);
  return warn('native server', `does not load (${load.reason}: ${load.detail}); the slower server on node:http is used`);
}

/** The data folder, and the store in it or in PostgreSQL. */
export async function checkDataDir(config: Config): Promise<readonly Finding[]> {
  const shared = config.databaseUrl === null ? [] : await checkStore(config);
  const dir = resolve(config.dataDir);
  if (!existsSync(dir)) {
    return [isWritable(nearestExisting(dir)) ? ok('data', `${dir} will be created`) : fail('data', `${dir} cannot be created`), ...shared];
  }
  const mode = statSync(dir).mode & 0o777;
  const findings = [
    (mode & 0o077) === 0
      ? ok('data', dir)
      : warn('data', `${dir} can be entered by other users (mode ${mode.toString(8)}); run chmod 700 on it`),
  ];
  const loose = ['sluice.db', 'pepper', 'simnet-passphrase', 'simnet-api-key']
    .filter((name) => existsSync(join(dir, name)))
    .filter((name) => (statSync(join(dir, name)).mode & 0o077) !== 0);
  if (loose.length > 0) findings.push(fail('data', `other users can read its files ${loose.join(', ')}; run chmod 600 on them`));
  if (config.databaseUrl !== null || !existsSync(join(dir, 'sluice.db'))) return [...findings, ...shared];
  return [...findings, ...(await checkStore(config))];
}

function checkStore(config: Config): Promise<readonly Finding[]> {
  return tried('store', async () => {
    const damage = config.databaseUrl === null ? await storeFault(config.dataDir) : null;
    if (damage !== null) return [fail('store', damage)];
    return withStore(config, async (store) => {
      // Fails if the pepper is missing or belongs to another store.
      if (await needsPepper(store)) await openKeyHash(store);
      const keys = await store.keys.countLive();
      const kind = config.databaseUrl === null ? 'SQLite' : 'PostgreSQL';
      return [ok('store', `${kind}, ${keys} ${keys === 1 ? 'key' : 'keys'}`), ...clockFindings(store.time)];
    });
  });
}

export function checkPassphrase(config: Config): Finding {
  const file = config.keystorePassphraseFile;
  if (file === null) {
    if (config.signerSocket !== null) return ok('keystore', `the signing process behind ${config.signerSocket} has the passphrase`);
    if (config.rpc === null) return ok('keystore', 'the passphrase is in DATA_DIR, because the chain is simulated');
    return config.trading === 'off'
      ? ok('keystore', 'no passphrase; none is needed while TRADING is off')
      : fail('keystore', 'KEYSTORE_PASSPHRASE_FILE is not set: no wallet can be unlocked');
  }
  try {
    readPassphrase(config);
  } catch (error) {
    return fail('keystore', reason(error));
  }
  const mode = statSync(file).mode & 0o777;
  return (mode & 0o077) === 0 ? ok('keystore', file) : warn('keystore', `${file} can be read by other users (mode ${mode.toString(8)})`);
}

function nearestExisting(dir: string): string {
  return existsSync(dir) ? dir : nearestExisting(dirname(dir));
}

function isWritable(dir: string): boolean {
  try {
    accessSync(dir, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
