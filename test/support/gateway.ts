import type { Authenticator, Principal } from '@sluice/gateway/auth/principal.ts';
import { startGateway, type Gateway, type GatewayOptions } from '../../cli/gateway/gateway.ts';
import type { Bus, BusEntry, BusPublisher } from '@sluice/shared/bus/bus.ts';
import { createBus } from '@sluice/shared/bus/create.ts';
import { defaultPlans, type Plan } from '@sluice/shared/config/plans.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import { createLog, type Logger } from '@sluice/shared/runtime/log/log.ts';

import { testConfig } from './test-config.ts';

export { until } from './until.ts';

/** A set of keys that the test controls. */
export class TestKeys implements Authenticator {
  readonly #principals = new Map<string, Principal>();
  readonly #listeners = new Set<Parameters<Authenticator['onRevoked']>[0]>();
  readonly #planListeners = new Set<Parameters<Authenticator['onReplanned']>[0]>();

  add(key: string, principal: Partial<Principal> = {}): void {
    const keyId = principal.keyId ?? key;
    this.#principals.set(key, {
      keyId,
      credential: `${keyId}.1`,
      accountId: null,
      plan: defaultPlans.enterprise,
      plans: defaultPlans,
      scopes: ['stream'],
      ipRanges: [],
      label: null,
      expiresAtMs: null,
      ...principal,
    });
  }

  revoke(key: string, reason: 'revoked' | 'expired' = 'revoked'): void {
    const principal = this.#principals.get(key);
    this.#principals.delete(key);
    if (principal !== undefined) for (const listener of this.#listeners) listener(principal.credential, reason);
  }

  replan(key: string, plan: Plan): void {
    const principal = this.#principals.get(key);
    if (principal === undefined) throw new Error(`the key ${key} does not exist`);
    const replanned = { ...principal, plan };
    this.#principals.set(key, replanned);
    for (const listener of this.#planListeners) listener(replanned);
  }

  authenticate(apiKey: string): Principal | null {
    return this.#principals.get(apiKey) ?? null;
  }

  async refresh(): Promise<void> {}

  noteUse(): void {}

  async writeUses(): Promise<void> {}

  principalOf(credential: string): Principal | null {
    return [...this.#principals.values()].find((principal) => principal.credential === credential) ?? null;
  }

  onRevoked(listener: Parameters<Authenticator['onRevoked']>[0]): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  onReplanned(listener: Parameters<Authenticator['onReplanned']>[0]): () => void {
    this.#planListeners.add(listener);
    return () => void this.#planListeners.delete(listener);
  }
}

export const goodKey = 'sluice_test_streams';
/** A key id has ten letters and digits. */
export const goodKeyId = 'teststream';
export const scopelessKey = 'sluice_test_without_scope';

/** The same for all gateways of a test, as if they shared a pepper. */
export const testSealKey = new Uint8Array(32).fill(7);

export interface TestGateway {
  readonly gateway: Gateway;
  readonly bus: Bus;
  readonly keys: TestKeys;
  readonly log: Logger;
  /** `127.0.0.1:<port>` */
  readonly host: string;
  publish(entries: readonly BusEntry[]): Promise<void>;
  close(): Promise<void>;
}

export interface TestGatewayOptions {
  readonly transport?: 'uws' | 'node';
  readonly clock?: GatewayOptions['clock'];
  readonly config?: Partial<Config>;
  readonly bus?: Bus;
  readonly routes?: GatewayOptions['routes'];
  readonly endpoints?: GatewayOptions['endpoints'];
  readonly limiter?: GatewayOptions['limiter'];
  /** Replaces the keys that the test controls. */
  readonly authenticator?: Authenticator;
  readonly market?: GatewayOptions['market'];
  readonly directory?: GatewayOptions['directory'];
  readonly metadata?: GatewayOptions['metadata'];
  /** The store of orders. The test controls the keys separately. */
  readonly store?: GatewayOptions['store'];
  /** Folder with the compiled pages. */
  readonly page?: string;
}

/** A gateway on real sockets, with a bus in this process unless one is given. */
export async function startTestGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const log = createLog({ level: 'silent', name: 'test' });
  const bus = options.bus ?? (await createBus({ redisUrls: null, log }));
  const keys = new TestKeys();
  keys.add(goodKey, { keyId: goodKeyId });
  keys.add(scopelessKey, { scopes: ['read'] });
  const gateway = await startGateway({
    config: { ...testConfig, ...options.config },
    bus,
    log,
    signal: new AbortController().signal,
    authenticator: options.authenticator ?? keys,
    sealKey: testSealKey,
    ...(options.transport && { transport: options.transport }),
    ...(options.clock && { clock: options.clock }),
    ...(options.routes === undefined ? {} : { routes: options.routes }),
    ...(options.endpoints === undefined ? {} : { endpoints: options.endpoints }),
    ...(options.limiter === undefined ? {} : { limiter: options.limiter }),
    ...(options.market === undefined ? {} : { market: options.market }),
    ...(options.directory && { directory: options.directory }),
    ...(options.metadata === undefined ? {} : { metadata: options.metadata }),
    ...(options.store === undefined ? {} : { store: options.store }),
    ...(options.page !== undefined && { page: options.page }),
  });
  let publisher: BusPublisher | null = null;
  return {
    gateway,
    bus,
    keys,
    log,
    host: `127.0.0.1:${gateway.port}`,
    publish: async (entries) => {
      publisher ??= await bus.publisher();
      await publisher.publish(entries);
    },
    close: async () => {
      await gateway.close();
      await publisher?.close();
      if (options.bus === undefined) await bus.close();
    },
  };
}
