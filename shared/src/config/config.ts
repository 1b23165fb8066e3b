import type { LevelWithSilent } from 'pino';
import type { MemoryBounds } from './memory-bounds.ts';
import type { Plans } from './plans.ts';

/** The settings of a process, read once at start, checked whole, frozen and passed down. */
export interface Config {
  readonly host: string;
  readonly port: number;
  readonly tls: { readonly certFile: string; readonly keyFile: string } | null;
  /** Null: the bus is in this process. */
  readonly redisUrls: readonly string[] | null;
  /** Null: simnet is the chain. Equal lengths. */
  readonly rpc: { readonly httpUrls: readonly string[]; readonly wsUrls: readonly string[] } | null;
  /** How many times faster than by default the market of simnet moves; 1 on a real cluster. */
  readonly simnetSpeed: number;
  readonly memory: MemoryBounds;
  readonly grpc: { readonly url: string; readonly token: string | null } | null;
  readonly dataDir: string;
  readonly databaseUrl: string | null;
  readonly trading: 'off' | 'paper' | 'live';
  readonly keystorePassphraseFile: string | null;
  /** Where a signing process that runs as a user of its own listens; null: the gateway starts one itself. */
  readonly signerSocket: string | null;
  /** Where that process keeps its audit logs and the operator's policy; null: under `dataDir`. */
  readonly signerDir: string | null;
  /** What the signing process lets out of a custodial wallet, lamports. */
  readonly signerLimits: { readonly maxOrderLamports: bigint; readonly maxDayLamports: bigint };
  /** Where orders are sent beside the RPC nodes: a Jito block engine, a Helius Sender. */
  readonly broadcast: {
    readonly jitoUrl: string | null;
    readonly senderUrl: string | null;
    /** What an order pays each of them, lamports; 0 where it is not set. */
    readonly jitoTip: bigint;
    readonly senderTip: bigint;
  };
  /** What each plan grants: the defaults, overridden by PLANS_FILE. */
  readonly plans: Plans;
  /** Origins whose pages may call the interface from a browser, as browsers send them; `['*']`: any. */
  readonly corsOrigins: readonly string[];
  /** Proxies (addresses or CIDR ranges) whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: readonly string[];
  /** Origin under which people reach the dashboard; null if it does not follow from HOST and PORT. */
  readonly publicUrl: string | null;
  /** `open`: a wallet that is not known may make itself an account. */
  readonly signUp: 'open' | 'closed';
  readonly operations: {
    /** Where `/metrics`, `/livez` and `/readyz` are served without a key; null: only at the gateway's own port. */
    readonly metrics: { readonly host: string; readonly port: number } | null;
    /** Other gateways of this machine may listen on the same port. */
    readonly sharePort: boolean;
    /** Time from the signal to end until the listener closes. */
    readonly drainWaitMs: number;
  };
  readonly logLevel: LevelWithSilent;
}
