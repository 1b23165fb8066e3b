import { rotateApiKey } from '@sluice/gateway/auth/api-keys.ts';
import { openStore, type Store } from '@sluice/gateway/store/store.ts';
import { makeKey } from '../support/keys.ts';

/**
 * A process next to others on the same stores. It receives `{"dataDir","databaseUrl","work","id"}` as a message, does the work, and answers
 * with the result or with the text of the error.
 */
interface Task {
  readonly dataDir: string;
  readonly databaseUrl: string | null;
  readonly work: 'open' | 'create' | 'rotate' | 'take';
  /** A key's id, or the hash of a one-time token in hexadecimal digits. */
  readonly id: string;
}

const rotations = 10;

async function perform({ dataDir, databaseUrl, work, id }: Task): Promise<unknown> {
  const store = await openStore({ dataDir, databaseUrl });
  try {
    return await inStore(store, work, id);
  } finally {
    await store.close();
  }
}

async function inStore(store: Store, work: Task['work'], id: string): Promise<unknown> {
  if (work === 'open') return (await store.accounts.all()).map((account) => account.id);
  if (work === 'create') return (await makeKey(store)).id;
  if (work === 'take') return (await store.oneTime.take(Buffer.from(id, 'hex'), Date.now())) !== 'used';
  const keys: string[] = [];
  for (let count = 0; count < rotations; count++) {
    const rotated = await rotateApiKey(store, id, 60_000);
    if (rotated !== null) keys.push(rotated.key);
  }
  return keys;
}

process.on('message', (task: Task) => {
  perform(task).then(
    (result) => process.send?.({ result }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
process.send?.('ready');
