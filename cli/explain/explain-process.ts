import { createInterface } from 'node:readline';
import type { Gathered } from '@sluice/programs/explain/gather.ts';
import { runExplain } from '@sluice/programs/explain/run.ts';
import { venueEventsOf } from './venue-events.ts';

/**
 * The process that explains transactions for a gateway: one job a line on standard input, one outcome a line on standard output, in order. It holds
 * nothing that is secret, and ends with the gateway.
 */
interface Job {
  readonly gathered: Gathered;
  readonly folder: string | null;
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const { gathered, folder } = JSON.parse(line) as Job;
  process.stdout.write(`${JSON.stringify(runExplain(gathered, folder, venueEventsOf))}\n`);
}
