import { standardMemory } from '@sluice/shared/config/memory-bounds.ts';
import { defaultPlans } from '@sluice/shared/config/plans.ts';
import { createBus } from '@sluice/shared/bus/create.ts';
import type { Bus, BusEntry } from '@sluice/shared/bus/bus.ts';
import { createInProcessBus } from '@sluice/shared/bus/in-process/in-process-bus.ts';
import { createLog } from '@sluice/shared/log/log.ts';
import { startIngest } from '@sluice/ingest/ingest.ts';

/**
 * The measured process: only ingest, on its own core. argv: HTTP URL, WS URL, Redis URL or `-`, and which process maintains the market's
 * state: `self` or `other`.
 */
const [, , httpUrl = '', wsUrl = '', redisUrl = '-', keeper = 'other'] = process.argv;

/** Accepts everything and stores nothing, because ingest is measured up to the bus. */
function countingBus(): Bus {
  const never = (): never => {
    throw new Error('The counting bus has no readers.');
  };
  const empty = createInProcessBus();
  // Held here, so that no process maintains the market's state.
  empty.lease('market');
  return {
    lease: (name) => empty.lease(name),
    tail: (count) => empty.tail(count),
    publisher: async () => ({
      publish: async (entries: readonly BusEntry[]): Promise<void> => {
        for (const { json, msgpack } of entries) bytes += json.length + msgpack.length;
      },
      setStatus: async () => undefined,
      close: async () => undefined,
    }),
    subscriber: never,
    setStatus: async () => undefined,
    statuses: async () => [],
    close: async () => undefined,
  };
}

let bytes = 0;
const log = createLog({ level: 'error', name: 'bench' });
const bus = redisUrl === '-' ? countingBus() : await createBus({ redisUrls: [redisUrl], log });
const config = {
  host: '127.0.0.1',
  port: 0,
  tls: null,
  redisUrls: redisUrl === '-' ? null : [redisUrl],
  rpc: { httpUrls: [httpUrl], wsUrls: [wsUrl] },
  simnetSpeed: 1,
  memory: standardMemory,
  venues: ['pump', 'pump-amm'],
  grpc: null,
  dataDir: '.data',
  databaseUrl: null,
  trading: 'off',
  keystorePassphraseFile: null,
  signerSocket: null,
  signerDir: null,
  signerLimits: { maxOrderLamports: 101_000_000_000n, maxDayLamports: 1_000_000_000_000n },
  broadcast: { jitoUrl: null, senderUrl: null, jitoTip: 0n, senderTip: 0n },
  plans: defaultPlans,
  corsOrigins: [],
  trustedProxies: [],
  pumpPortalKeyless: false,
  compressedConnections: 0,
  publicUrl: null,
  signUp: 'closed',
  operations: { metrics: null, sharePort: false, drainWaitMs: 0 },
  logLevel: 'error',
} as const;
if (redisUrl !== '-' && keeper === 'other') {
  const lease = (await createBus({ redisUrls: [redisUrl], log })).lease('market');
  await new Promise<void>((resolve) => {
    lease.onChange(() => {
      if (lease.held) resolve();
    });
  });
}
const ingest = await startIngest({ config, bus, log, signal: new AbortController().signal });

process.on('message', (message) => {
  if (message === 'stats') {
    const { user, system } = process.cpuUsage();
    process.send?.({ cpuUs: user + system, bytes, stats: ingest.stats() });
  } else if (message === 'end') void ingest.close().then(() => process.exit(0));
});
