import type { HaltTable } from '@sluice/gateway/store/sql/tables/operation/halt.ts';
import { openHaltSwitch, openStore, type Store } from '@sluice/gateway/store/store.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import { withProgress } from '../../command-line/progress.ts';

/** The last line in the help of all commands that use the store. */
export const storeNote = 'The actions use the store (DATABASE_URL, or in DATA_DIR), even while gateways run.';

/** Opens the store. A database on another machine can be slow or unreachable. */
export function openStoreOf(config: Config): Promise<Store> {
  return withProgress('opening the store', () => openStore(config));
}

/** Opens the halt switch for `work`, and closes it afterwards. */
export async function withHaltSwitch<T>(config: Config, work: (halt: HaltTable) => Promise<T>): Promise<T> {
  const halt = await withProgress('opening the store', () => openHaltSwitch(config));
  try {
    return await work(halt);
  } finally {
    await halt.close();
  }
}

/** Opens the store for `work`, and closes it afterwards. Gateways may use it at the same time. */
export async function withStore<T>(config: Config, work: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStoreOf(config);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** Records that a command reads or opens data of an account, named by `subject`. Call it before the data is read: without a record nothing is shown. */
export async function noteOperator(
  { operatorLog, time }: Pick<Store, 'operatorLog' | 'time'>,
  command: string,
  subject: string,
): Promise<void> {
  const { SUDO_USER: behind } = process.env;
  const uid = process.getuid?.() ?? -1;
  await operatorLog.add({
    atMs: time.nowMs(),
    user: behind === undefined ? `uid ${uid}` : `uid ${uid}, sudo by ${behind.slice(0, 64)}`,
    command,
    subject,
  });
}
