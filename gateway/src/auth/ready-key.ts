import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { aboutDataDir } from '../store/about-data-dir.ts';
import { readIfThere, readOrMakeSecret } from '../store/secret-file.ts';
import type { Store } from '../store/store.ts';
import { createApiKey } from './api-keys.ts';
import { createAuthenticator } from './authenticator.ts';
import { parseApiKey } from './key-format.ts';
import { scopes } from '@sluice/shared/wire/plans.ts';

/** Beside the store, for its owner only. */
const fileName = 'simnet-api-key';

/**
 * The key that the embedded start shows: Enterprise, all scopes. It is kept in the clear under the data folder, so that clients
 * find their way back after a restart, and made anew once it is revoked, rotated away or damaged. For simulated chains only.
 */
export function readyKey(store: Store, label: string): string {
  const file = join(store.dataDir, fileName);
  return aboutDataDir(`the API key ${file} cannot be kept`, () => {
    const kept = readIfThere(file);
    if (kept !== null && opensAll(store, kept)) return kept;
    rmSync(file, { force: true });
    return readOrMakeSecret(file, () => `${createApiKey(store, { plan: 'enterprise', scopes, label, expiresAtMs: null }).key}\n`);
  });
}

function opensAll(store: Store, key: string): boolean {
  const authenticator = createAuthenticator(store);
  const principal = authenticator.authenticate(key);
  authenticator.close();
  return principal?.plan.name === 'enterprise' && principal.scopes.length === scopes.length;
}

/** A key that lies in the clear opens nothing on a real cluster: it is revoked and its file deleted. Tells whether there was one. */
export function endReadyKey(store: Store): boolean {
  const file = join(store.dataDir, fileName);
  return aboutDataDir(`the API key ${file} cannot be ended`, () => {
    const kept = readIfThere(file);
    if (kept === null) return false;
    const parts = parseApiKey(kept);
    if (parts !== null) store.keys.revoke(parts.id, Date.now());
    rmSync(file, { force: true });
    return true;
  });
}
