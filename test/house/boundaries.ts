import { posix } from 'node:path';
import type { HouseCheck } from './house-check.ts';
import { importsOf, type Import } from './imports.ts';
import { dividedFolders, layerFault, upwardLayers } from './layers.ts';
import { isTypeScript, sourceFiles, type SourceFile } from './source-files.ts';

/** Which folders a folder may import from, besides itself. */
const layers: Readonly<Record<string, readonly string[]>> = {
  'shared/src': [],
  'venues/src': ['shared/src'],
  'ingest/src': ['shared/src', 'venues/src'],
  'gateway/src': ['shared/src', 'venues/src'],
  'client/src': [],
  'gateway/web': ['client/src'],
  cli: ['shared/src', 'venues/src', 'ingest/src', 'gateway/src', 'client/src', 'test/simnet'],
  'test/simnet': ['shared/src', 'venues/src'],
  test: ['shared/src', 'venues/src', 'ingest/src', 'gateway/src', 'client/src', 'gateway/web', 'cli', 'compile'],
};
/** The smallest plausible number of modules. A scanner that finds nothing would also find no fault. */
const fewestModules: Readonly<Record<keyof typeof layers, number>> = {
  'shared/src': 50,
  'venues/src': 40,
  'ingest/src': 21,
  'gateway/src': 44,
  'client/src': 8,
  'gateway/web': 30,
  cli: 16,
  'test/simnet': 100,
  test: 160,
};

/** Each outside library is used in one place. Tests may use all of them. */
const packageHomes: Readonly<Record<string, readonly string[]>> = {
  'uWebSockets.js': ['gateway/src/transport/'],
  ioredis: ['shared/src/bus/'],
  marked: ['gateway/src/docs/guides.ts'],
  libsql: ['gateway/src/store/libsql.ts', 'gateway/src/store/sql/sqlite/sqlite.ts'],
  pino: ['shared/src/log/', 'shared/src/config/config.ts'],
  'pino-pretty': ['shared/src/log/'],
  ws: ['shared/src/solana/pubsub/', 'gateway/src/transport/', 'client/src/node.ts', 'cli/doctor/'],
  typebox: ['shared/src/wire/', 'gateway/src/'],
  '@solana/web3.js': ['shared/src/solana/'],
  '@coral-xyz/anchor': [],
  '@pump-fun/pump-sdk': [],
  litesvm: [],
  'fast-check': [],
  vitest: [],
  'node:child_process': ['gateway/src/signer/child.ts', 'gateway/src/signer/service.ts', 'cli/'],
  pg: ['gateway/src/store/sql/postgres.ts'],
  preact: ['gateway/web/'],
  'lightweight-charts': ['gateway/web/src/token/chart.tsx'],
  uqr: ['gateway/web/src/wallets/qr.tsx'],
  'node:net': [
    'shared/src/operations/server.ts',
    'gateway/src/signer/child.ts',
    'gateway/src/signer/service.ts',
    'gateway/src/transport/',
    'gateway/src/auth/ip-ranges.ts',
    'gateway/src/http/client-address.ts',
    'cli/',
    'shared/src/config/',
    'shared/src/metadata/',
  ],
  'node:http': ['gateway/src/transport/', 'shared/src/metadata/', 'shared/src/operations/server.ts', 'shared/src/solana/json-post.ts'],
  'node:https': ['gateway/src/transport/', 'shared/src/metadata/', 'shared/src/solana/json-post.ts'],
  'node:tls': ['gateway/src/transport/'],
};

/** No I/O, no environment, no logger: these may import only each other and these packages. */
const pureFolders = [
  'venues/src/',
  'shared/src/wire/',
  'shared/src/codec/',
  'shared/src/errors/',
  'shared/src/money.ts',
  'shared/src/market/depth-share.ts',
];
const pureMayUse = [...pureFolders, 'shared/src/solana/'];
const purePackages: ReadonlySet<string> = new Set(['typebox', 'node:buffer', 'node:crypto']);

/** Only these folders may import custody. */
const custodyUsers = ['gateway/src/custody/', 'gateway/src/signer/', 'gateway/src/orders/', 'cli/', 'test/'];

export const boundaries: HouseCheck = {
  name: 'boundaries between folders',
  async run(root) {
    const all = sourceFiles(root);
    const files = all.filter(isTypeScript);
    const paths = new Set(all.map((file) => file.path));
    const counts = countModules(files);
    const tooFew = Object.entries(fewestModules)
      .filter(([layer, fewest]) => (counts.get(layer) ?? 0) < fewest)
      .map(([layer, fewest]) => `${layer}: only ${counts.get(layer) ?? 0} modules seen, expected ${fewest} or more`);
    return [...tooFew, ...upwardLayers(dividedFolders), ...boundaryFaults(files.flatMap(importsOf), paths)];
  },
};

function countModules(files: readonly SourceFile[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const file of files) {
    const layer = layerOf(file.path);
    if (layer !== null) counts.set(layer, (counts.get(layer) ?? 0) + 1);
  }
  return counts;
}

function layerOf(path: string): string | null {
  if (path.endsWith('.test.ts')) return 'test';
  return Object.keys(layers).find((layer) => path.startsWith(`${layer}/`)) ?? null;
}

/** One sentence for each import that crosses a boundary. */
export function boundaryFaults(imports: readonly Import[], paths: ReadonlySet<string>): readonly string[] {
  return imports.flatMap((one) => {
    const why = one.to === null ? packageFault(one) : fileFault(one, one.to, paths);
    return why === null ? [] : [`${one.from} imports ${one.specifier}: ${why}`];
  });
}

function fileFault({ from }: Import, to: string, paths: ReadonlySet<string>): string | null {
  if (!paths.has(to) && !to.endsWith('.json')) return 'the file does not exist';
  const layer = layerOf(from);
  if (layer === null) return null;
  // The project's version.
  if (to === posix.join(posix.dirname(layer), 'package.json')) return null;
  const allowed = [layer, ...(layers[layer] ?? [])];
  if (!allowed.some((folder) => to.startsWith(`${folder}/`))) return `${layer} may import from ${allowed.join(', ')} only`;
  if (isPure(from) && !pureMayUse.some((folder) => to.startsWith(folder))) return 'the pure core may not import it';
  if (to.startsWith('gateway/src/custody/') && !custodyUsers.some((folder) => from.startsWith(folder)))
    return 'only orders, the signer and the command line may import custody';
  const [venue, otherVenue] = [venueOf(from), venueOf(to)];
  if (venue !== null && otherVenue !== null && venue !== otherVenue) return 'a venue never imports a venue';
  if (venue === null && otherVenue !== null && !venueUsers.some((path) => from.startsWith(path))) return 'only the registry names a venue';
  return layerFault(from, to);
}

function packageFault({ from, package: name }: Import): string | null {
  if (name === null || from.startsWith('test/')) return null;
  if (isPure(from) && !purePackages.has(name)) return 'the pure core may not import it';
  const homes = packageHomes[name];
  if (homes !== undefined && !homes.some((home) => from.startsWith(home))) return `only ${homes.join(', ') || 'test/'} may`;
  return homes === undefined && !name.startsWith('node:') ? 'no folder is named as the home of this package' : null;
}

function isPure(path: string): boolean {
  return pureFolders.some((folder) => path.startsWith(folder));
}

/** What may import a venue's own files. Everything else finds a venue in the registry. */
const venueUsers = ['venues/src/registry.ts', 'test/'];

/** Folders next to the venues with code that several of them use. */
const venueLibraries: ReadonlySet<string> = new Set(['kit', 'pump-fees']);

function venueOf(path: string): string | null {
  const folder = /^venues\/src\/([^/]+)\//.exec(path)?.[1] ?? null;
  return folder === null || venueLibraries.has(folder) ? null : folder;
}
