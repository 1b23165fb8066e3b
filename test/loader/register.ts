import { register } from 'node:module';
import { isMainThread } from 'node:worker_threads';

// Threads are started by the compiled product, which needs no loader.
if (isMainThread) {
  process.setSourceMapsEnabled(true);
  register(new URL('hooks.mjs', import.meta.url), { data: new URL(import.meta.url).searchParams.get('root') });
}
