import type { LevelWithSilent } from 'pino';

/** The settings of a process, read once at start, checked whole, frozen and passed down. */
export interface Config {
  readonly host: string;
  readonly port: number;
  readonly tls: { readonly certFile: string; readonly keyFile: string } | null;
  /** Null: the bus is in this process. */
  readonly redisUrls: readonly string[] | null;
  /** Null: simnet is the chain. Equal lengths. */
  readonly rpc: { readonly httpUrls: readonly string[]; readonly wsUrls: readonly string[] } | null;
  readonly grpc: { readonly url: string; readonly token: string | null } | null;
  readonly dataDir: string;
  readonly databaseUrl: string | null;
  readonly trading: 'off' | 'paper' | 'live';
  readonly keystorePassphraseFile: string | null;
  readonly logLevel: LevelWithSilent;
}
