/** The programs: name (of the script and of the file in a build) and entry module. */

/** These programs share chunks of code. */
export const programs = {
  start: 'cli/start.ts',
  sluice: 'cli/sluice.ts',
  ingest: 'ingest/src/main.ts',
  gateway: 'cli/gateway.ts',
  generate: 'cli/generate.ts',
  'render-documents': 'site/src/docs/render-default.ts',
  'log-followers': 'followers/src/thread.ts',
  'grpc-thread': 'ingest/src/sources/grpc/grpc-thread.ts',
  'blocks-thread': 'ingest/src/sources/blocks/blocks-thread.ts',
  'follower-thread': 'trading/src/follow/thread/follower-thread.ts',
  'answers-thread': 'shared/src/solana/rpc/answers/parse-thread.ts',
  'explain-process': 'cli/explain/explain-process.ts',
  'programs-thread': 'ingest/src/sources/programs/programs-thread.ts',
  thread: 'shared/src/runtime/thread/thread.ts',
};

/** The signing process is a single file. */
export const signer = { signer: 'trading/src/signer/main.ts' };

/** The page of the dashboard, and the script and style of the documentation, which the gateway serves. */
export const web = { entries: { web: 'site/web/src/main.tsx', 'web-docs': 'site/web/src/docs/main.tsx' }, html: 'site/web/src/page.html' };

/** The recording that `sluice replay` plays by default. It is copied unchanged. */
export const exampleRecording = 'cli/commands/replay/example.jsonl.br';

/** What the gateway serves in addition to the documents that it generates (`site/src/docs/text/guides.ts`). */
export const documents = [
  'docs/OPERATING.md',
  'docs/PROTOCOL.md',
  'client/README.md',
  'clients/python/README.md',
  'docs/guides/charts.md',
  'docs/guides/coming-from-pumpportal.md',
  'docs/guides/exits-that-run-on-the-server.md',
  'docs/guides/first-hour.md',
  'docs/guides/operating-sluice.md',
  'docs/guides/placing-orders.md',
  'docs/guides/sniping-bot.md',
  'docs/guides/trading-in-the-page.md',
];

/** Sources that may be part of a program, without tests. */
export const sourceFolders = [
  'cli',
  'client/src',
  'compile',
  'followers/src',
  'gateway/src',
  'ingest/src',
  'programs/replaced',
  'programs/src',
  'shared/src',
  'site',
  'test/simnet',
  'trading/src',
  'venues/src',
];
export const sourceFiles = [
  ...documents,
  'client/package.json',
  'followers/package.json',
  'gateway/package.json',
  'ingest/package.json',
  'package.json',
  'pnpm-lock.yaml',
  'programs/package.json',
  'shared/package.json',
  'site/package.json',
  'trading/package.json',
  'venues/package.json',
];

/** Packages with machine code. `shared/src/runtime/thread/installed-package.ts` loads them. */
export const loadedAtRunTime = ['libsql', 'uWebSockets.js'];
/** Those that have it in a further package: name, and beginning of the name of that package. */
export const machineCode = { libsql: `@libsql/${process.platform}-${process.arch}` };
/** Packages that others try to load but do not need. No program contains them. */
export const optional = ['bufferutil', 'utf-8-validate', 'pg-native', 'pg-cloudflare', 'supports-color', 'encoding'];
