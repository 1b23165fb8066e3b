import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { SettingError } from '@sluice/shared/config/setting-error.ts';
import { scopes } from '@sluice/shared/wire/plans.ts';
import { aboutDataDir } from '../store/about-data-dir.ts';
import { readIfThere, readOrMakeSecret } from '../store/secret-file.ts';
import type { Store } from '../store/store.ts';
import { createApiKey, storedKeyOf } from './api-keys.ts';
import { parseApiKey } from './key-format.ts';

/** The file is beside the store, readable by its owner only. */
const fileName = 'simnet-api-key';

/**
 * The key that the embedded start shows: Enterprise, all scopes. It is stored in the clear under the data folder, so that clients
 * find their way back after a restart, and made again if it is revoked, rotated away or damaged. For simulated chains only.
 */
export async function readyKey(store: Store, label: string): Promise<string> {
  const file = join(store.dataDir, fileName);
  const aboutKey = <T>(work: () => T): T => aboutDataDir(`the API key ${file} cannot be stored`, work);
  const stored = aboutKey(() => readIfThere(file));
  if (stored !== null && (await opensAll(store, stored))) return stored;
  const made = await createApiKey(store, {
    plan: 'enterprise',
    scopes,
    label,
    expiresAtMs: null,
    accountId: null,
    ipRanges: [],
    limits: null,
  });
  if (!made.ok) throw new SettingError('DATA_DIR', 'the store holds as many keys as it takes');
  return aboutKey(() => {
    rmSync(file, { force: true });
    return readOrMakeSecret(file, () => `${made.shown.key}\n`);
  });
}

async function opensAll(store: Store, key: string): Promise<boolean> {
  const stored = await storedKeyOf(store, key);
  return stored?.plan === 'enterprise' && stored.scopes.length === scopes.length;
}

/** A key that lies in the clear opens nothing on a real cluster: it is revoked and its file deleted. Returns whether there was one. */
export async function endReadyKey(store: Store): Promise<boolean> {
  const file = join(store.dataDir, fileName);
  const aboutKey = <T>(work: () => T): T => aboutDataDir(`the API key ${file} cannot be ended`, work);
  const stored = aboutKey(() => readIfThere(file));
  if (stored === null) return false;
  const parts = parseApiKey(stored);
  if (parts !== null) await store.keys.revoke(parts.id, Date.now());
  aboutKey(() => rmSync(file, { force: true }));
  return true;
}
