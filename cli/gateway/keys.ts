import { randomBytes } from 'node:crypto';
import type { Bus } from '@sluice/shared/bus/bus.ts';
import { agreedClock } from '@sluice/shared/runtime/clock/agreed-time.ts';
import { systemClock, type Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { Nonces } from '@sluice/gateway/accounts/sign-in/nonces.ts';
import { createAuthenticator } from '@sluice/gateway/auth/authenticator.ts';
import { openSigningKey } from '@sluice/gateway/auth/pepper.ts';
import type { Authenticator } from '@sluice/gateway/auth/principal.ts';
import { RecordSeal } from '@sluice/gateway/auth/record-seal.ts';
import { openStore, type Store } from '@sluice/gateway/store/store.ts';
import { sealedEvents, unsealedEvents, type PrivateEvents } from '@sluice/gateway/stream/delivery/private-events.ts';

const sealKeyBytes = 32;

export interface KeysOptions {
  readonly config: Config;
  readonly bus: Bus;
  readonly log: Logger;
  /** The store with the API keys. Without a store and an authenticator, the store in `config.dataDir` is opened. */
  readonly store?: Store;
  readonly authenticator?: Authenticator;
  /** Key of the seals on records in Redis. If omitted, it is derived from the store's pepper, or is random if there is no store. */
  readonly sealKey?: Uint8Array;
  /** Without a clock, the wall time is the one agreed on with the store. Tests replace the clock. */
  readonly clock?: Clock;
}

/** The keys of a gateway, and the store that they come from. */
export interface OpenKeys {
  readonly authenticator: Authenticator;
  /** Null if the keys do not come from a store: then the dashboard cannot create keys. */
  readonly dashboard: { readonly store: Store; readonly nonces: Nonces } | null;
  readonly sealKey: Uint8Array;
  readonly clock: Clock;
  close(): Promise<void>;
}

export async function openKeys({ config, bus, store, authenticator, sealKey: given, log, ...options }: KeysOptions): Promise<OpenKeys> {
  if (authenticator !== undefined && store === undefined) {
    const clock = options.clock ?? systemClock;
    return { authenticator, dashboard: null, sealKey: given ?? randomBytes(sealKeyBytes), clock, close: async () => undefined };
  }
  const used = store ?? (await openStore(config, 'service'));
  let stopWatching = (): void => undefined;
  const closeStore = async (): Promise<void> => {
    stopWatching();
    if (store === undefined) await used.close();
  };
  try {
    stopWatching = await used.watchTime({ parties: { redis: () => bus.timeMs() }, log });
    const clock = options.clock ?? agreedClock(used.time);
    const dashboard = { store: used, nonces: new Nonces(await openSigningKey(used, 'sign-in nonces')) };
    const sealKey = given ?? (await openSigningKey(used, 'records in Redis'));
    if (authenticator !== undefined) return { authenticator, dashboard, sealKey, clock, close: closeStore };
    const made = await createAuthenticator({ store: used, plans: config.plans, log });
    const close = async (): Promise<void> => {
      await made.close();
      await closeStore();
    };
    return { authenticator: made, dashboard, sealKey, clock, close };
  } catch (error) {
    await closeStore();
    throw error;
  }
}

/** The seal of records in Redis, and of events that belong to one key. Inside one process events need no seal. */
export function openSeal(
  { sealKey, clock }: OpenKeys,
  { redisUrls }: Config,
): { readonly seal: RecordSeal; readonly events: PrivateEvents } {
  const seal = new RecordSeal(sealKey, clock);
  return { seal, events: redisUrls === null ? unsealedEvents : sealedEvents(seal) };
}
