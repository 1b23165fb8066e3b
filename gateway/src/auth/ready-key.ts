import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { SettingError } from '@sluice/shared/config/settings/setting-error.ts';
import { scopes } from '@sluice/shared/wire/values/plans.ts';
import { aboutDataDir, readIfThere, readOrMakeSecret } from '../store/files/files.ts';
import type { Store } from '../store/store.ts';
import { createApiKey, storedKeyOf } from './api-keys.ts';
import { parseApiKey } from './key-format.ts';

/** The file is in the data folder, readable by its owner only. */
const fileName = 'simnet-api-key';

/**
 * The key that the embedded start shows: Enterprise, all scopes. It is stored unencrypted in the data folder, so that clients can reconnect
 * after a restart. It is replaced if it was revoked, rotated or damaged. For simulated chains only.
 */
export async function readyKey(store: Store, label: string): Promise<string> {
  const file = join(store.dataDir, fileName);
  const aboutKey = <T>(work: () => T): T => aboutDataDir(`the API key ${file} cannot be stored`, work);
  const stored = aboutKey(() => readIfThere(file));
  if (stored !== null && (await opensAll(store, stored))) return stored;
  const made = await createApiKey(store, { plan: 'enterprise', scopes, label });
  if (!made.ok) throw new SettingError('DATA_DIR', 'the store already has as many keys as it can have');
  return aboutKey(() => {
    rmSync(file, { force: true });
    return readOrMakeSecret(file, () => `${made.created.key}\n`);
  });
}

async function opensAll(store: Store, key: string): Promise<boolean> {
  const stored = await storedKeyOf(store, key);
  return stored?.plan === 'enterprise' && stored.scopes.length === scopes.length;
}

/** Revokes this key and deletes its file, because an unencrypted key must not work on a real cluster. Returns whether there was one. */
export async function endReadyKey(store: Store): Promise<boolean> {
  const file = join(store.dataDir, fileName);
  const aboutKey = <T>(work: () => T): T => aboutDataDir(`the API key ${file} cannot be ended`, work);
  const stored = aboutKey(() => readIfThere(file));
  if (stored === null) return false;
  const parts = parseApiKey(stored);
  if (parts !== null) await store.keys.revoke(parts.id, store.time.nowMs());
  aboutKey(() => rmSync(file, { force: true }));
  return true;
}
