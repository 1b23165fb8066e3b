import { SluiceError } from '@sluice/client';
import { createApiKey, deleteApiKey } from '@sluice/gateway/auth/api-keys.ts';
import type { Store } from '@sluice/gateway/store/store.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import type { Scope } from '@sluice/shared/wire/values/plans.ts';
import { CommandError } from '../../command-line/command.ts';
import { nobodyListens, probeGateway } from '../../gateway/gateway-probe.ts';
import { listenerAt } from '../../gateway/listener-owner.ts';
import { openStoreOf } from '../store/with-store.ts';

/** A temporary key expires after this time, in case its command is killed before it can delete the key. A longer command creates further keys. */
const keyLifeMs = 15 * 60_000;

/** A URL where a gateway answered is not asked again for this long. */
const probedForMs = 5_000;

interface CommandKey {
  get(): Promise<string>;
  close(): Promise<void>;
}

/** Whose temporary key is created, and for what. */
interface Purpose {
  readonly label: string;
  /** Null means the operator. */
  readonly accountId: string | null;
  readonly scopes: readonly Scope[];
}

/** The given key; without one, keys that are created in the store when they are needed, and deleted. */
export async function openKey(
  given: string | undefined,
  config: Config,
  purposeOf: (store: Store) => Promise<Purpose>,
): Promise<CommandKey> {
  if (given !== undefined && given !== '') return { get: async () => given, close: async () => {} };
  const store = await openStoreOf(config);
  let id: string | null = null;
  const deleteKey = async (): Promise<void> => {
    if (id !== null) await deleteApiKey(store, id);
    id = null;
  };
  return {
    get: async () => {
      await deleteKey();
      const made = await makeKey(store, await purposeOf(store));
      id = made.id;
      return made.key;
    },
    close: async () => {
      await deleteKey();
      await store.close();
    },
  };
}

async function makeKey(store: Store, purpose: Purpose): Promise<{ readonly id: string; readonly key: string }> {
  const expiresAtMs = store.time.nowMs() + keyLifeMs;
  const made = await createApiKey(store, { ...purpose, plan: 'enterprise', expiresAtMs });
  if (!made.ok) throw new CommandError('The store already has as many keys as it can have.');
  return made.created;
}

/** Why a gateway may refuse the key that a command has just created. */
export function otherStore(command: string, { dataDir }: Config): string {
  return `${command} created this key in ${dataDir}. If the gateway uses another store, set its DATA_DIR or DATABASE_URL here, or pass --key.`;
}

/** Gives the key only if a gateway answers at this URL, and its process does not belong to another user. The error says what is wrong and what to do. */
export function keyForSluice(url: string, config: Config, key: () => Promise<string>): () => Promise<string> {
  let probedAtMs = Number.NEGATIVE_INFINITY;
  return async () => {
    const listener = listenerAt(url, config);
    if (listener.kind === 'foreign') throw new SluiceError(listener.fault, { code: 'MALFORMED', retryable: false });
    if (listener.kind === 'nobody') throw new Error(nobodyListens(new URL(url).host));
    if (performance.now() - probedAtMs > probedForMs) {
      const probe = await probeGateway(url);
      if (!probe.ok && probe.isGateway === false) throw new SluiceError(probe.fault, { code: 'MALFORMED', retryable: false });
      if (!probe.ok) throw new Error(probe.fault);
      probedAtMs = performance.now();
    }
    return await key();
  };
}
