import { decodedVenueNames, loggedVenueNames, type VenueName, venuesByLogs } from '../../wire/venues.ts';

function inCode(names: readonly VenueName[]): string {
  return names.map((name) => `\`${name}\``).join(', ');
}

/** One setting. The table in REFERENCE.md and `.env.example` are generated from these. */
export interface SettingSpec {
  readonly name: string;
  /** The default, as text; null if there is none. */
  readonly default: string | null;
  readonly meaning: string;
  /** A value for `.env.example`, if the default does not show the form. */
  readonly example?: string;
}

const specs = {
  HOST: { default: '127.0.0.1', meaning: 'Address that the gateway listens on.' },
  PORT: { default: '8080', meaning: 'Port that the gateway listens on. `0`: any free port, which is logged.' },
  TLS_CERT_FILE: {
    meaning: 'Certificate chain, PEM. With both TLS files, the gateway serves HTTPS and WSS itself. Without them, use a proxy for TLS.',
    example: '/etc/sluice/tls.crt',
  },
  TLS_KEY_FILE: { meaning: 'Private key of the certificate, PEM.', example: '/etc/sluice/tls.key' },
  REDIS_URL: {
    meaning:
      'Address of Redis, `redis://` or `rediss://`. Several, comma-separated: the nodes of a cluster (Redis 7), or a primary and its replicas in any order. Not set: the bus is inside the process, and only `start` works.',
    example: 'redis://127.0.0.1:6379',
  },
  SOLANA_RPC_URL: {
    meaning: 'JSON-RPC URLs, comma-separated. All are used, and none is trusted alone. Not set: the chain is simulated (simnet).',
    example: 'https://rpc-1.example.com,https://rpc-2.example.com',
  },
  SOLANA_WS_URL: {
    default: '`SOLANA_RPC_URL` with `ws` or `wss`',
    meaning: 'PubSub URLs, comma-separated: one for each RPC URL, in the same order.',
    example: 'wss://rpc-1.example.com,wss://rpc-2.example.com',
  },
  SOURCES: {
    default:
      '`logs`, and the first that the endpoints offer of `grpc`, `transaction-subscribe`, `block-subscribe` and `blocks`; on simnet `logs`',
    meaning:
      'How ingest reads the chain, comma-separated. `logs`: log lines by PubSub, at `processed`. `blocks`: every confirmed block, whole, by HTTP; for nodes without PubSub, or together with `logs`. `block-subscribe`: the same by PubSub (`blockSubscribe`), only the transactions of the venues. `transaction-subscribe`: whole transactions by PubSub at `processed` (`transactionSubscribe` of Helius). `grpc`: the same by Yellowstone gRPC. The fastest report of a transaction is published, and the others confirm, complete and fill.',
    example: 'logs,blocks',
  },
  SETTLE_BY: {
    default: 'blocks',
    meaning:
      'What confirms the events of a slot. `blocks`: the signatures of its confirmed block, one more request for each slot. `lists`: the lists of transactions that ingest reads every four seconds anyway, and a block only if they lack a reported transaction. Confirmed events are then four to eight seconds late. With the source `blocks` it has no effect.',
    example: 'lists',
  },
  SOLANA_GRPC_URL: {
    meaning:
      'Addresses of Yellowstone gRPC endpoints, comma-separated, `https://` or, without TLS, `http://`. They are used in addition to `SOLANA_RPC_URL`.',
    example: 'https://grpc.example.com:443',
  },
  SOLANA_GRPC_TOKEN: { meaning: 'Token for `SOLANA_GRPC_URL`, sent to each as the header `x-token`. Not set: none is sent.' },
  SIMNET_SPEED: {
    default: '1',
    meaning: 'Speed of the simulated market, 1 to 50. At 1 it has 8 trades per second and a new token every 2.5 seconds.',
    example: '10',
  },
  DATA_DIR: { default: '.data', meaning: 'Data folder. It contains the embedded store (API keys, wallets, orders) and the pepper.' },
  DATABASE_URL: {
    meaning:
      'Address of PostgreSQL as the store, for gateways on several machines: `postgres://` or `postgresql://`. Not set: the store is SQLite in `DATA_DIR`.',
    example: 'postgres://user:password@127.0.0.1/sluice',
  },
  VENUES: {
    default: `all of them; ${inCode(venuesByLogs)} if only logs are read, as on simnet`,
    meaning: `Venues that ingest reads, comma-separated: ${inCode(decodedVenueNames)}. The logs of ${inCode(loggedVenueNames)} show their trades. Each trade of any other venue needs a source of whole transactions, or one more request to a node.`,
    example: loggedVenueNames.join(','),
  },
  PRICE_POOLS: {
    default: 'three pools each for SOL, USDT, USD1 and JitoSOL, as they are on mainnet',
    meaning:
      'Addresses of the pools that give the values of SOL and of other quote coins, comma-separated, in place of the built-in ones: pools of concentrated liquidity in which one of the two coins is USDC or SOL. For a cluster that has other pools, or if the depth moved. The median of the pools counts, so name at least three for SOL: if there is only one, its price sets all values in USD. Quote coins that are not built in have no value.',
    example: 'Czfq3xZZDmsdGdUyrNLtRhGc47cXcZtLG4crryfu44zE',
  },
  TRADING: {
    default: '`live` on simnet, `off` on a real cluster',
    meaning:
      '`off`: orders are refused. `live`: orders are signed and sent. `paper`: orders are filled at quotes of the live market, from paper wallets that begin with 10 SOL. Nothing is signed or sent, and live wallets are out of reach.',
    example: 'off',
  },
  KEYSTORE_PASSPHRASE_FILE: {
    meaning: 'File with the passphrase that unlocks custodial wallets. On simnet, one is created in `DATA_DIR`.',
    example: '/etc/sluice/passphrase',
  },
  SIGNER_MAX_ORDER_SOL: {
    default: '101',
    meaning:
      'Maximum amount of SOL that one order may spend from a custodial wallet, with all fees, tips and rent. The signing process refuses larger orders.',
  },
  SIGNER_MAX_DAY_SOL: {
    default: '1000',
    meaning:
      'Maximum amount of SOL that a custodial wallet may spend on one day (UTC). All signed orders count, including those that did not land.',
  },
  SIGNER_SOCKET: {
    meaning:
      'Unix socket of a signing process that runs as a separate user (`sluice signer`, see OPERATING.md). The gateway then needs no passphrase. Not set: the gateway starts a signing process itself.',
    example: '/run/sluice-signer/signer.sock',
  },
  SIGNER_DIR: {
    default: '`DATA_DIR/audit`',
    meaning: "Folder of the signing process, with the audit logs, the operator's policy and the halt mark.",
    example: '/var/lib/sluice-signer',
  },
  JITO_URL: {
    meaning:
      'Address of `sendTransaction` on a Jito block engine. Orders are also sent there, with a tip if the wallet is custodial. Each order is sent once; it is sent again only if the engine resets the connection without an answer, and never after a crash of the gateway. An order with `jitoOnly` goes there alone, and is sent again every two seconds until it lands or expires. So does a bundle of `/trade/batch`, at the path `/bundles` in place of `/transactions`.',
    example: 'https://frankfurt.mainnet.block-engine.jito.wtf/api/v1/transactions',
  },
  JITO_TIP_SOL: {
    default: '0.000001 with `JITO_URL`',
    meaning:
      'Tip for the block engine in each order, 0.000001 to 0.1 SOL. If a transaction has no room for both tips, this one is omitted.',
    example: '0.00001',
  },
  SENDER_URL: {
    meaning: 'Address of `sendTransaction` on a Helius Sender. Orders are also sent there, with a tip if the wallet is custodial.',
    example: 'https://sender.helius-rpc.com/fast',
  },
  SENDER_TIP_SOL: {
    default: '0.001 with `SENDER_URL`, 0.000005 if it has `swqos_only=true`',
    meaning: 'Tip for the Sender in each order, from the default to 0.1 SOL.',
    example: '0.001',
  },
  PLANS_FILE: {
    meaning:
      'JSON file that overrides parts of the plans: `{"standard":{"requestsPerMinute":200,"withoutChannels":["migrations"]}}`. The fields are those of `plan` in `GET /usage`, without `name`.',
    example: '/etc/sluice/plans.json',
  },
  ALLOWED_HOSTS: {
    default: 'if `HOST` is a loopback address, the names of the loopback and of `PUBLIC_URL`, otherwise any name',
    meaning:
      'Further names, comma-separated and without port, that are accepted in the `Host` header of requests. Other names are refused with 403, so that no web page can reach a listener on the loopback by DNS rebinding. `*`: any name.',
    example: 'sluice.example.com',
  },
  CORS_ORIGINS: {
    meaning:
      'Origins, comma-separated, whose pages may call the API from a browser. `*`: any origin. If `HOST` is a loopback address, pages of other origins may not use the stream without a key or a ticket in the URL or as a subprotocol.',
    example: 'https://app.example.com,https://charts.example.com',
  },
  TRUSTED_PROXIES: {
    meaning: 'Addresses or CIDR ranges of your proxies, comma-separated. `X-Forwarded-For` is used only if it comes from them.',
    example: '10.0.0.0/8,::1',
  },
  PUMPPORTAL_KEYLESS: {
    default: '`on` on simnet if `HOST` is a loopback address, otherwise `off`',
    meaning:
      '`on`: PumpPortal clients without an API key may use the stream with the PumpPortal protocol, and `POST /api/trade-local`, with limits for each address. `off`: every client needs a key.',
    example: 'on',
  },
  COMPRESSED_CONNECTIONS: {
    default: '100',
    meaning:
      'Stream connections with `?compress=1` whose messages are compressed at the same time. A further one is accepted without compression. `0`: none.',
    example: '100',
  },
  PUBLIC_URL: {
    default: 'from `HOST` and `PORT` if `HOST` is a loopback address',
    meaning: 'Public origin of the dashboard. Signing in works only there.',
    example: 'https://sluice.example.com',
  },
  SIGN_UP: {
    default: '`open` on simnet, `closed` on a real cluster',
    meaning: '`open`: any wallet can sign up for a Standard account. `closed`: only the operator creates accounts.',
    example: 'closed',
  },
  IDL_DIR: {
    meaning:
      'Folder of Anchor IDLs, `<program id>.json`. Ingest publishes the events, instructions and accounts of these programs on the channel `programs`. `sluice explain` and `GET /explain/{signature}` read the instructions, events and errors of these programs with them. For other programs they use the IDL that is published on chain.',
    example: '/etc/sluice/idl',
  },
  IPFS_GATEWAYS: {
    default: '`https://ipfs.io/ipfs/,https://dweb.link/ipfs/`',
    meaning:
      'Gateways of IPFS, comma-separated, that metadata and images of tokens are fetched from, tried in this order. They must be public addresses, on port 80 or 443. `none`: nothing is fetched from IPFS.',
    example: 'https://ipfs.example.com/ipfs/,https://ipfs.io/ipfs/',
  },
  METRICS_PORT: {
    meaning:
      'Second port, with `/metrics`, `/livez` and `/readyz` only, for Prometheus or a load balancer on another machine. Each process needs its own. `0`: any free port, which is logged. Not set: a gateway serves `/metrics` at `PORT` to callers on its own machine, and an ingest process serves none.',
    example: '9464',
  },
  METRICS_HOST: {
    default: '127.0.0.1',
    meaning: 'Address that the metrics port listens on. It requires no key, so do not make it public.',
  },
  SHARE_PORT: {
    default: 'false',
    meaning:
      '`true`: several gateways on this machine may listen on `PORT` at the same time, so that a new one can replace an old one without a pause. `false`: it is an error if the port is in use.',
    example: 'true',
  },
  DRAIN_WAIT_SECONDS: {
    default: '0',
    meaning:
      'Seconds (0 to 5) between the signal to end and the end of the listener. Meanwhile `/readyz` returns 503 and connections are still accepted, so that a load balancer can switch to another gateway.',
    example: '5',
  },
  LOG_LEVEL: {
    default: 'info',
    meaning:
      '`trace` `debug` `info` `warn` `error` `fatal` `silent`. Logs are written to stderr as JSON, or as readable text on a terminal. `start` shows only warnings and errors unless this is set.',
  },
  SLUICE_API_KEY: { meaning: 'API key that `sluice watch` uses. Not set: it creates a temporary key.' },
} as const satisfies Readonly<Record<string, Omit<SettingSpec, 'name' | 'default'> & { readonly default?: string }>>;

export type SettingName = keyof typeof specs;

export const settingsTable: readonly SettingSpec[] = Object.entries(specs).map(([name, spec]) => ({ name, default: null, ...spec }));
