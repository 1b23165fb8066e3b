import type { Store } from '@sluice/gateway/store/store.ts';

/**
 * Notes in the store that a command reads, or opens, what is somebody's: before it does so, for what is not noted is not shown. `subject`:
 * whose it is.
 */
export async function noteOperator({ operatorLog }: Pick<Store, 'operatorLog'>, command: string, subject: string): Promise<void> {
  const { SUDO_USER: behind } = process.env;
  const uid = process.getuid?.() ?? -1;
  await operatorLog.add({
    atMs: Date.now(),
    user: behind === undefined ? `uid ${uid}` : `uid ${uid}, sudo by ${behind.slice(0, 64)}`,
    command,
    subject,
  });
}
