/** One setting as the documents show it; README's table and .env.example are generated from these. */
export interface SettingSpec {
  readonly name: string;
  /** As documented; null where there is none. */
  readonly default: string | null;
  readonly meaning: string;
  /** A value for `.env.example`, where the default would not show the form. */
  readonly example?: string;
}

export const settingsTable = [
  { name: 'HOST', default: '127.0.0.1', meaning: "Address of the gateway's listener." },
  { name: 'PORT', default: '8080', meaning: "Port of the gateway's listener; `0` takes a free one and prints it." },
  {
    name: 'TLS_CERT_FILE',
    default: null,
    meaning: 'Certificate chain, PEM. With both TLS files the listener speaks HTTPS and WSS itself; otherwise a proxy in front does.',
    example: '/etc/sluice/tls.crt',
  },
  { name: 'TLS_KEY_FILE', default: null, meaning: 'Private key to it, PEM.', example: '/etc/sluice/tls.key' },
  {
    name: 'REDIS_URL',
    default: null,
    meaning:
      '`redis://` or `rediss://`; or several, comma-separated: nodes of a cluster (Redis 7), or a primary and its replicas, of which the primary is used whichever it is. Without it the bus is in the process, and only `start` works.',
    example: 'redis://127.0.0.1:6379',
  },
  {
    name: 'SOLANA_RPC_URL',
    default: null,
    meaning: 'One or several JSON-RPC addresses, comma-separated: all are used, none is trusted alone. Without it simnet is the chain.',
    example: 'https://rpc-1.example.com,https://rpc-2.example.com',
  },
  {
    name: 'SOLANA_WS_URL',
    default: "the RPC's, as `ws` or `wss`",
    meaning: 'The PubSub address of each RPC address, in the same order.',
    example: 'wss://rpc-1.example.com,wss://rpc-2.example.com',
  },
  {
    name: 'SOLANA_GRPC_URL',
    default: null,
    meaning: 'A Yellowstone gRPC source. This version has none yet: the start is refused while it is set.',
    example: 'https://grpc.example.com',
  },
  { name: 'SOLANA_GRPC_TOKEN', default: null, meaning: 'Token for it.' },
  {
    name: 'SIMNET_SPEED',
    default: '1',
    meaning: 'How many times faster the simulated market moves, 1 to 50: at 1 it has 8 trades a second and a new token every 2.5 seconds.',
    example: '10',
  },
  { name: 'DATA_DIR', default: '.data', meaning: 'Folder of the embedded store: API keys and wallets.' },
  {
    name: 'DATABASE_URL',
    default: null,
    meaning:
      'PostgreSQL as the store, for gateways on several machines: `postgres://` or `postgresql://`. Without it the store is under `DATA_DIR`.',
    example: 'postgres://user:password@127.0.0.1/sluice',
  },
  {
    name: 'TRADING',
    default: '`live` on simnet, `off` on a real cluster',
    meaning:
      '`off`: orders are refused. `live`: they are signed and sent. `paper`: they are quoted and filled on the live market, and nothing is signed or sent; balances are those of the chain, so that what was bought on paper cannot be sold.',
    example: 'off',
  },
  {
    name: 'KEYSTORE_PASSPHRASE_FILE',
    default: null,
    meaning: 'File with the passphrase that unlocks custodial wallets; on simnet one is made under `DATA_DIR`.',
    example: '/etc/sluice/passphrase',
  },
  {
    name: 'SIGNER_MAX_ORDER_SOL',
    default: '101',
    meaning:
      'Most SOL that one order may take from a custodial wallet, fees, tips and rent inside; the signing process refuses what is beyond.',
  },
  {
    name: 'SIGNER_MAX_DAY_SOL',
    default: '1000',
    meaning:
      'Most SOL that what is signed on one day (UTC) may take from one custodial wallet. All that was signed counts, whether it landed or not.',
  },
  {
    name: 'SIGNER_SOCKET',
    default: null,
    meaning:
      'Unix socket of a signing process that runs as a user of its own (`sluice signer`, OPERATING.md); the gateway then needs no passphrase. Without it the gateway starts one itself.',
    example: '/run/sluice-signer/signer.sock',
  },
  {
    name: 'SIGNER_DIR',
    default: '`DATA_DIR/audit`',
    meaning: "Folder of the signing process: audit logs, the operator's policy, the mark of the halt.",
    example: '/var/lib/sluice-signer',
  },
  {
    name: 'JITO_URL',
    default: null,
    meaning:
      "A Jito block engine's `sendTransaction`; orders are sent there too, each once: a second time only if the engine resets the connection instead of answering, and never if a gateway takes the order up after a crash. Orders of custodial wallets then carry a tip for it.",
    example: 'https://frankfurt.mainnet.block-engine.jito.wtf/api/v1/transactions',
  },
  {
    name: 'JITO_TIP_SOL',
    default: '0.000001 with `JITO_URL`',
    meaning:
      'Tip of each order for the block engine, 0.000001 to 0.1 SOL. Of a message that has no room for both tips this one is left out.',
    example: '0.00001',
  },
  {
    name: 'SENDER_URL',
    default: null,
    meaning: "A Helius Sender's `sendTransaction`; orders are sent there too. Orders of custodial wallets then carry a tip for it.",
    example: 'https://sender.helius-rpc.com/fast',
  },
  {
    name: 'SENDER_TIP_SOL',
    default: '0.001 with `SENDER_URL`, 0.000005 where it has `swqos_only=true`',
    meaning: 'Tip of each order for the Sender: from its default to 0.1 SOL.',
    example: '0.001',
  },
  {
    name: 'PLANS_FILE',
    default: null,
    meaning:
      'JSON file that overrides parts of the plans: `{"standard":{"requestsPerMinute":200,"withoutChannels":["migrations"]}}`. The fields are those of `plan` in `GET /usage`, without `name`.',
    example: '/etc/sluice/plans.json',
  },
  {
    name: 'CORS_ORIGINS',
    default: null,
    meaning: 'Origins, comma-separated, whose pages may call the interface from a browser; `*` for any.',
    example: 'https://app.example.com,https://charts.example.com',
  },
  {
    name: 'TRUSTED_PROXIES',
    default: null,
    meaning: 'Addresses or CIDR ranges, comma-separated, of the proxies in front: only their `X-Forwarded-For` is believed.',
    example: '10.0.0.0/8,::1',
  },
  {
    name: 'PUBLIC_URL',
    default: 'from `HOST` and `PORT` while they are on the loopback',
    meaning: 'Origin under which people reach the dashboard; signing in is bound to it.',
    example: 'https://sluice.example.com',
  },
  {
    name: 'SIGN_UP',
    default: '`open` on simnet, `closed` on a real cluster',
    meaning: '`open`: a wallet that is not known may make itself a Standard account. `closed`: the operator makes accounts.',
    example: 'closed',
  },
  {
    name: 'METRICS_PORT',
    default: null,
    meaning:
      'A second port, of each process its own, with `/metrics`, `/livez` and `/readyz` alone, for a Prometheus or a balancer elsewhere; `0` takes a free one and logs it. Without it an ingest process has none, and a gateway serves `/metrics` to callers on its own machine, at `PORT`.',
    example: '9464',
  },
  { name: 'METRICS_HOST', default: '127.0.0.1', meaning: 'Address of that port. No key is asked for there: keep it from the public.' },
  {
    name: 'SHARE_PORT',
    default: 'false',
    meaning:
      '`true`: other gateways of this machine may listen on `PORT` beside this one, so that a new one takes over from an old one without a pause. `false`: a taken port is an error.',
    example: 'true',
  },
  {
    name: 'DRAIN_WAIT_SECONDS',
    default: '0',
    meaning:
      'When a gateway gets the signal to end: seconds, at most 5, for which it still takes connections while `/readyz` says 503, so that a balancer turns away from it first.',
    example: '5',
  },
  {
    name: 'LOG_LEVEL',
    default: 'info',
    meaning: '`trace` `debug` `info` `warn` `error` `fatal` `silent`. Logs go to stderr as JSON, pretty on a terminal.',
  },
  {
    name: 'SLUICE_API_KEY',
    default: null,
    meaning: 'The key that `sluice watch` uses; without it, it makes one for as long as it runs.',
  },
] as const satisfies readonly SettingSpec[];

export type SettingName = (typeof settingsTable)[number]['name'];
