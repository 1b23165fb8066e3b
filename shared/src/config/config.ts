import type { LevelWithSilent } from 'pino';
import type { MemoryBounds } from './memory-bounds.ts';
import type { Plans } from './plans.ts';
import type { VenueName } from '../wire/venues.ts';
import type { SourceName } from './settings/source-settings.ts';

/** The settings of a process. They are read and checked once at the start, frozen, and passed down. */
export interface Config {
  readonly host: string;
  readonly port: number;
  readonly tls: { readonly certFile: string; readonly keyFile: string } | null;
  /** Null: the bus is in this process. */
  readonly redisUrls: readonly string[] | null;
  /** Null: the chain is simulated. Both lists have the same length. */
  readonly rpc: { readonly httpUrls: readonly string[]; readonly wsUrls: readonly string[] } | null;
  /** Speed of simnet's market, 1 to 50; 1 on a real cluster. */
  readonly simnetSpeed: number;
  readonly memory: MemoryBounds;
  /** Venues that ingest reads. */
  readonly venues: readonly VenueName[];
  /** How ingest reads the chain; at least one. */
  readonly sources: readonly SourceName[];
  /** By what a confirmed slot is settled, if no source reads whole blocks. */
  readonly settleBy: 'blocks' | 'lists';
  readonly grpc: { readonly urls: readonly string[]; readonly token: string | null } | null;
  readonly dataDir: string;
  readonly databaseUrl: string | null;
  readonly trading: 'off' | 'paper' | 'live';
  readonly keystorePassphraseFile: string | null;
  /** Socket of a signing process that runs as a separate user; null: the gateway starts one itself. */
  readonly signerSocket: string | null;
  /** Folder of the audit logs and the operator's policy; null: in `dataDir`. */
  readonly signerDir: string | null;
  /** Maximum amount that a custodial wallet may spend, in lamports. */
  readonly signerLimits: { readonly maxOrderLamports: bigint; readonly maxDayLamports: bigint };
  /** Where orders are sent in addition to the RPC nodes: a Jito block engine, a Helius Sender. */
  readonly broadcast: {
    readonly jitoUrl: string | null;
    readonly senderUrl: string | null;
    /** Tip of an order for each of them, lamports; 0 if it is not set. */
    readonly jitoTip: bigint;
    readonly senderTip: bigint;
  };
  /** What each plan grants: the defaults, overridden by PLANS_FILE. */
  readonly plans: Plans;
  /** Names that are accepted in `Host`, in addition to the listener's own; `['*']`: any. See `hostCheck`. */
  readonly allowedHosts: readonly string[];
  /** Origins whose pages may call the API from a browser; `['*']`: any. */
  readonly corsOrigins: readonly string[];
  /** Proxies (addresses or CIDR ranges) whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: readonly string[];
  /** PumpPortal clients without a key may use PumpPortal's protocol on the stream and get unsigned transactions. */
  readonly pumpPortalKeyless: boolean;
  /** Stream connections whose messages may be compressed at the same time. */
  readonly compressedConnections: number;
  /** Public origin of the dashboard; null if it is not set and cannot be derived from HOST and PORT. */
  readonly publicUrl: string | null;
  /** `open`: any wallet can sign up for an account. */
  readonly signUp: 'open' | 'closed';
  readonly operations: {
    /** Where `/metrics`, `/livez` and `/readyz` are served without a key; null: only at the gateway's own port. */
    readonly metrics: { readonly host: string; readonly port: number } | null;
    /** Other gateways of this machine may listen on the same port. */
    readonly sharePort: boolean;
    /** Time between the signal to end and the end of the listener. */
    readonly drainWaitMs: number;
  };
  /** Gateways of IPFS, each ending in `/ipfs/`, for the metadata of tokens. */
  readonly ipfsGateways: readonly string[];
  readonly logLevel: LevelWithSilent;
}
