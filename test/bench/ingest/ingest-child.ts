import { createBus } from '@sluice/shared/bus/create.ts';
import type { Bus, BusEntry } from '@sluice/shared/bus/bus.ts';
import { createInProcessBus } from '@sluice/shared/bus/in-process/in-process-bus.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { startIngest } from '@sluice/ingest/ingest.ts';
import { testConfig } from '../../support/test-config.ts';

/**
 * The measured process: only ingest. argv: HTTP URL, WS URL, Redis URL or `-`, which process maintains the market's state: `self` or `other`, and the
 * gRPC URL that is read in place of logs, or `-`.
 */
const [, , httpUrl = '', wsUrl = '', redisUrl = '-', keeper = 'other', grpcUrl = '-'] = process.argv;

const followers = ['market', 'pools'];

/** Accepts everything and stores nothing, because ingest is measured up to the bus. */
function countingBus(): Bus {
  const never = (): never => {
    throw new Error('The counting bus has no readers.');
  };
  const empty = createInProcessBus();
  // Held here, so that no process follows the log.
  for (const name of followers) empty.lease(name);
  return {
    lease: (name) => empty.lease(name),
    tail: (count) => empty.tail(count),
    readTail: (count, read) => empty.readTail(count, read),
    publisher: async () => ({
      publish: async (entries: readonly BusEntry[]): Promise<void> => {
        for (const { record } of entries) bytes += record.length;
      },
      setStatus: async () => undefined,
      close: async () => undefined,
    }),
    subscriber: never,
    setStatus: async () => undefined,
    statuses: async () => [],
    timeMs: async () => null,
    close: async () => undefined,
  };
}

let bytes = 0;
const log = createLog({ level: 'error', name: 'bench' });
const bus = redisUrl === '-' ? countingBus() : await createBus({ redisUrls: [redisUrl], log });
const config = {
  ...testConfig,
  redisUrls: redisUrl === '-' ? null : [redisUrl],
  rpc: { httpUrls: [httpUrl], wsUrls: [wsUrl] },
  ...(grpcUrl !== '-' && { sources: ['grpc' as const], grpc: { urls: [grpcUrl], token: null } }),
};
if (redisUrl !== '-' && keeper === 'other') {
  const other = await createBus({ redisUrls: [redisUrl], log });
  const held = followers.map((name) => {
    const lease = other.lease(name);
    return new Promise<void>((resolve) => {
      lease.onChange(() => {
        if (lease.held) resolve();
      });
    });
  });
  await Promise.all(held);
}
const ingest = await startIngest({ config, bus, log, signal: new AbortController().signal });

process.on('message', (message) => {
  if (message === 'stats') {
    const { user, system } = process.cpuUsage();
    process.send?.({ cpuUs: user + system, bytes, stats: ingest.stats() });
  } else if (message === 'end') void ingest.close().then(() => process.exit(0));
});
