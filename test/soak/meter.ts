import { isMainThread } from 'node:worker_threads';
import { collectGarbage } from '../support/garbage.ts';
import type { Metered } from './sampler.ts';

const giveBackMs = 200;

/** Loaded into a process before its program: at SIGUSR2 it collects its garbage and logs what is left. */
if (isMainThread) {
  let number = 0;
  process.on('SIGUSR2', () => {
    collectGarbage();
    // What objects held outside the heap is given back a little later.
    setTimeout(() => {
      collectGarbage();
      const { heapUsed, external } = process.memoryUsage();
      const resources = process.getActiveResourcesInfo().length;
      const metered: Metered = { msg: 'metered', number: ++number, heldBytes: heapUsed + external, resources };
      process.stderr.write(`${JSON.stringify(metered)}\n`);
    }, giveBackMs);
  });
}
