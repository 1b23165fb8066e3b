import { createApiKey, type KeyRequest, type CreatedKey } from '@sluice/gateway/auth/api-keys.ts';
import { createAuthenticator, type StoreAuthenticator } from '@sluice/gateway/auth/authenticator.ts';
import { openStore, type Store } from '@sluice/gateway/store/store.ts';
import { defaultPlans } from '@sluice/shared/config/plans.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';

/** The embedded store of a test. */
export function openEmbeddedStore(dataDir: string): Promise<Store> {
  return openStore({ dataDir, databaseUrl: null });
}

/** A key of the operator's: Standard plan and all scopes, unless stated otherwise. */
export async function makeKey(store: Store, request: Partial<KeyRequest> = {}): Promise<CreatedKey> {
  const made = await createApiKey(store, {
    plan: 'standard',
    scopes: ['stream', 'read', 'trade'],
    label: null,
    ...request,
  });
  if (!made.ok) throw new Error(`no key was made: ${made.reason}`);
  return made.created;
}

/** An authenticator with the default plans that logs nothing. */
export function authenticatorOf(store: Store): Promise<StoreAuthenticator> {
  return createAuthenticator({ store, plans: defaultPlans, log: createLog({ level: 'silent', name: 'test' }) });
}
