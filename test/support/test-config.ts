import { decodedVenueNames } from '@sluice/shared/wire/venues.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import { standardMemory } from '@sluice/shared/config/memory-bounds.ts';
import { defaultPlans } from '@sluice/shared/config/plans.ts';

/** Settings of a test: the loopback, a free port, the bus in this process. */
export const testConfig: Config = {
  host: '127.0.0.1',
  port: 0,
  tls: null,
  redisUrls: null,
  rpc: null,
  simnetSpeed: 1,
  memory: standardMemory,
  venues: decodedVenueNames,
  pricePools: null,
  sources: ['logs'],
  settleBy: 'blocks',
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
  allowedHosts: [],
  corsOrigins: [],
  trustedProxies: [],
  pumpPortalKeyless: false,
  compressedConnections: 100,
  publicUrl: null,
  signUp: 'open',
  operations: { metrics: null, sharePort: false, drainWaitMs: 0 },
  idlDir: null,
  ipfsGateways: [],
  logLevel: 'silent',
};
