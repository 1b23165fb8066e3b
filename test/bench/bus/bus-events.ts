import type { BusEntry, BusPublisher } from '@sluice/shared/bus/bus.ts';

/** A record of usual size. */
const record = Buffer.alloc(600, 'a');
/** Mints and traders in turn, so that topics are neither all equal nor all new. */
const mints = 10_000;
const traders = 10_007;
/** Events that may wait to be stored: enough for full batches, and far below the queue's bound. */
const outstanding = 1_000;

export function busEvent(index: number): BusEntry {
  return { topics: ['trades', `trades:${'M'.repeat(38)}${index % mints}`, `trades:@${'T'.repeat(38)}${index % traders}`], record };
}

/** Publishes `count` events, one for each call, as fast as they are stored. */
export async function publishEvents(publisher: BusPublisher, count: number): Promise<void> {
  let calls: Promise<void>[] = [];
  for (let index = 0; index < count; index += 1) {
    calls.push(publisher.publish([busEvent(index)]));
    if (calls.length === outstanding * 2) {
      await calls[outstanding];
      calls = calls.slice(outstanding);
    }
  }
  await Promise.all(calls);
}
