import { createBus } from '@sluice/shared/bus/create.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { entry } from './bus-recorder.ts';

/** A process that publishes one entry after the other while it holds the lease, and reports the results. argv: Redis URL. */
const [, , url = ''] = process.argv;
const bus = await createBus({ redisUrls: [url], log: createLog({ level: 'silent', name: 'test' }) });
const lease = bus.lease('one');
if (!lease.held) await new Promise<void>((resolve) => void lease.onChange(resolve));
const publisher = await bus.publisher({ lease });
process.stdout.write(`held ${lease.fence}\n`);
for (let count = 0, refused = null; refused === null; count += 1) {
  refused = await publisher.publish([entry(`child ${count}`)]).then(
    () => null,
    (error: { readonly code?: string }) => error.code ?? 'unknown',
  );
  if (refused !== null) process.stdout.write(`refused ${refused}\n`);
}
