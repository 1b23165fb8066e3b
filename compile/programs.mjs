/** What is compiled: the name of each program, as its script and its file in a build, and the module that it begins with. */

/** They share their code, piece by piece. */
export const programs = {
  start: 'cli/start.ts',
  sluice: 'cli/sluice.ts',
  ingest: 'ingest/src/main.ts',
  gateway: 'gateway/src/main.ts',
  generate: 'cli/generate.ts',
  'keeper-thread': 'ingest/src/market/keeper-thread.ts',
  'follower-thread': 'gateway/src/orders/follow/follower-thread.ts',
  'answers-thread': 'shared/src/solana/answers/parse-thread.ts',
  thread: 'shared/src/thread/thread.ts',
};

/** The signing process is one file that loads no other. */
export const signer = { signer: 'gateway/src/signer/main.ts' };

/** Files that a program reads beside its code, copied as they are. */
export const assets = ['api-keys.css', 'api-keys.js', 'page.css', 'page.html', 'page.js', 'wallets.js'].map(
  (name) => `gateway/src/dashboard/${name}`,
);

/** What may be part of a program. Tests are not. */
export const sourceFolders = ['cli', 'compile', 'gateway/src', 'ingest/src', 'shared/src', 'test/simnet'];
export const sourceFiles = ['gateway/package.json', 'ingest/package.json', 'package.json', 'pnpm-lock.yaml', 'shared/package.json'];

/** Loaded from the project's `node_modules`, because they bring machine code: the package, and the module that it begins with. */
export const native = { libsql: 'index.js' };
/** Packages that others try to load, and do without. No program has them. */
export const optional = ['bufferutil', 'utf-8-validate', 'pg-native', 'pg-cloudflare', 'supports-color'];
