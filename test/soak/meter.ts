import { isMainThread } from 'node:worker_threads';
import { collectGarbage } from '../support/garbage.ts';
import type { Metered } from './sampler.ts';

const giveBackMs = 200;

/** Loaded into a process before its program. At SIGUSR2 it collects the garbage and logs what remains. */
if (isMainThread) {
  let number = 0;
  process.on('SIGUSR2', () => {
    collectGarbage();
    // Memory that objects had outside the heap is freed a little later.
    setTimeout(() => {
      collectGarbage();
      const { heapUsed, external } = process.memoryUsage();
      const resources = process.getActiveResourcesInfo().length;
      const metered: Metered = { msg: 'metered', number: ++number, heldBytes: heapUsed + external, resources };
      process.stderr.write(`${JSON.stringify(metered)}\n`);
    }, giveBackMs);
  });
}
