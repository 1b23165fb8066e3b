import type { Store } from '@sluice/gateway/store/store.ts';

/**
 * Records in the store that a command reads or opens data of an account, named by `subject`. Call it before the data is read: without a
 * record nothing is shown.
 */
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
