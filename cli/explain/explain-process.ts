import { createInterface } from 'node:readline';
import type { Gathered } from '@sluice/programs/explain/gather.ts';
import { runExplain } from '@sluice/programs/explain/run.ts';
import { venueEventsOf } from './venue-events.ts';

/**
 * The process that explains transactions for a gateway. Each line on standard input is a job, and each line on standard output is the outcome of the next
 * job. The process holds no secret, and ends with the gateway.
 */
interface Job {
  readonly gathered: Gathered;
  readonly folder: string | null;
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const { gathered, folder } = JSON.parse(line) as Job;
  process.stdout.write(`${JSON.stringify(runExplain(gathered, folder, venueEventsOf))}\n`);
}
