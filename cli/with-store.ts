import { openStore, type Store } from '@sluice/gateway/store/store.ts';
import type { Config } from '@sluice/shared/config/config.ts';

/** Opens the store for `work`, and closes it afterwards. Gateways may use it at the same time. */
export async function withStore<T>(config: Config, work: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore(config);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
