/** Commands of the documents that need special care. `test/docs/blocks.test.ts` fails if one of them occurs in no document any more. */

/** Cannot run here. Only their syntax is checked. */
export const notRun: readonly { readonly command: RegExp; readonly because: string }[] = [
  { command: /^npx -y pnpm@12 test$/, because: 'it is the run of all tests' },
  { command: /^podman /, because: 'it needs a container engine' },
  { command: /^kubectl /, because: 'it needs a Kubernetes cluster' },
  { command: /^helm install /, because: 'it needs a Kubernetes cluster' },
  { command: /^(useradd|install -d .*-o sluice) /, because: 'it changes the users of the machine' },
  { command: /^(systemctl|sysctl) /, because: 'it changes the services and the kernel of the machine' },
  { command: /\/etc\//, because: 'it writes settings of the machine' },
  { command: /^curl .*\/readyz$/, because: 'it asks a service of the machine' },
];

export interface Endless {
  readonly command: RegExp;
  /** It works if it prints this. Then it is interrupted. */
  readonly until: RegExp;
  /** Prints only when the wallet trades, so an order is placed meanwhile. */
  readonly needsOrder?: true;
  /** It serves a page, which is opened. */
  readonly servesPage?: true;
  /** It must not use the data folder and the port of the running `start`. */
  readonly apart?: true;
}

/** Do not end by themselves. */
export const endless: readonly Endless[] = [
  { command: /sluice watch trades @/, until: /\bbuy\b/i, needsOrder: true },
  { command: /sluice watch orders/, until: /submitted|processed|confirmed/, needsOrder: true },
  { command: /sluice watch trades/, until: /\b(buy|sell)\b/i },
  { command: /sluice watch newTokens$/, until: / NEW / },
  { command: /sluice watch newTokens --json/, until: /"type":"newToken"/ },
  { command: /sluice simnet( --|$)/, until: /SOLANA_RPC_URL=http/, apart: true },
  { command: /sluice ingest$/, until: /ingest_started/, apart: true },
  { command: /sluice gateway$/, until: /gateway_started/, apart: true },
  { command: /^npx -y pnpm@12 ingest$/, until: /ingest_started/, apart: true },
  { command: /^npx -y pnpm@12 gateway$/, until: /gateway_started/, apart: true },
  { command: /^node stream\.mjs$/, until: /type: 'trade'/ },
  { command: /^node new-tokens\.mjs$/, until: /its creator bought for/ },
  { command: /^LIVE=1 .*sniper\.mjs$/, until: /^sold .*SOL$/m },
  { command: /sniper\.mjs$/, until: /^bought .*SOL, dry run$/m },
  { command: /chart\.mjs$/, until: /(\{"time".*\n){2}/ },
  { command: /^node server\.mjs$/, until: /http:\/\/127/, servesPage: true },
  { command: /chart\.py$/, until: /^live \d+/m },
  { command: /^node portal\.mjs$/, until: /txType: 'create'/ },
  { command: /^node local\.mjs$/, until: /^Transaction: \w{80,}$/m },
  { command: /^node native\.mjs$/, until: /pump \d/ },
];

/** The server under test was started by exactly this command. */
export const alreadyRuns = /^npx -y pnpm@12 start$/;
