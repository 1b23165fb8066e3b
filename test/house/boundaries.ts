import { join, posix } from 'node:path';
import { mostDoors } from './folders.ts';
import type { HouseCheck } from './house-check.ts';
import { importsOf, type Import } from './imports.ts';
import { dividedFolders, layerFault, upwardLayers } from './layers.ts';
import { productPackages, readManifest, type Manifest } from './product-packages.ts';
import { isTypeScript, sourceFiles, type SourceFile } from './source-files.ts';

/** Which folders a folder may import from, besides itself. */
const layers: Readonly<Record<string, readonly string[]>> = {
  'shared/src': [],
  'venues/src': ['shared/src'],
  'programs/src': ['shared/src', 'venues/src'],
  'followers/src': ['shared/src', 'venues/src'],
  'ingest/src': ['shared/src', 'venues/src', 'programs/src', 'followers/src'],
  'gateway/src': ['shared/src', 'venues/src'],
  'trading/src': ['shared/src', 'venues/src', 'followers/src', 'gateway/src'],
  'site/src': ['shared/src', 'gateway/src'],
  'client/src': [],
  'site/web': ['client/src', 'shared/src/wire'],
  // The one place that sees all: it connects the gateway with trading and the site.
  cli: ['shared/src', 'venues/src', 'programs/src', 'ingest/src', 'gateway/src', 'trading/src', 'site/src', 'client/src', 'test/simnet'],
  'test/simnet': ['shared/src', 'venues/src'],
  test: [
    'shared/src',
    'venues/src',
    'programs/src',
    'followers/src',
    'ingest/src',
    'gateway/src',
    'trading/src',
    'site/src',
    'client/src',
    'site/web',
    'cli',
    'compile',
  ],
};
/** The smallest plausible number of modules. A scanner that finds nothing would also find no fault. */
const fewestModules: Readonly<Record<keyof typeof layers, number>> = {
  'shared/src': 50,
  'venues/src': 40,
  'programs/src': 6,
  'followers/src': 10,
  'ingest/src': 21,
  'gateway/src': 120,
  'trading/src': 100,
  'site/src': 15,
  'client/src': 8,
  'site/web': 30,
  cli: 16,
  'test/simnet': 100,
  test: 160,
};

/** Each outside library is used in one place. Tests may use all of them. */
const packageHomes: Readonly<Record<string, readonly string[]>> = {
  'uWebSockets.js': ['gateway/src/transport/'],
  ioredis: ['shared/src/bus/'],
  marked: ['site/src/docs/text/topic.ts'],
  libsql: ['gateway/src/store/libsql.ts', 'gateway/src/store/sql/sqlite/sqlite.ts'],
  pino: ['shared/src/runtime/log/', 'shared/src/config/config.ts'],
  'pino-pretty': ['shared/src/runtime/log/'],
  ws: ['shared/src/solana/pubsub/', 'gateway/src/transport/', 'client/src/node.ts', 'cli/commands/doctor/'],
  msgpackr: ['gateway/src/stream/session/msgpack-command.ts'],
  typebox: ['shared/src/wire/', 'gateway/src/'],
  '@solana/web3.js': ['programs/src/'],
  '@coral-xyz/anchor': ['programs/src/idl/coder.ts'],
  '@pump-fun/pump-sdk': [],
  litesvm: [],
  'fast-check': [],
  vitest: [],
  'node:child_process': ['trading/src/signer/client/child.ts', 'trading/src/signer/service.ts', 'cli/'],
  pg: ['gateway/src/store/sql/postgres.ts'],
  preact: ['site/web/'],
  'lightweight-charts': ['site/web/src/token/chart.tsx'],
  uqr: ['site/web/src/account/wallets/qr.tsx'],
  'node:net': [
    'shared/src/operations/server.ts',
    'trading/src/signer/client/child.ts',
    'trading/src/signer/service.ts',
    'gateway/src/transport/',
    'gateway/src/auth/ip-ranges.ts',
    'gateway/src/http/callers/client-address.ts',
    'cli/',
    'shared/src/config/',
    'shared/src/guarded-http/',
  ],
  'node:http': [
    'gateway/src/transport/',
    'shared/src/guarded-http/',
    'shared/src/operations/server.ts',
    'shared/src/solana/rpc/json-post.ts',
  ],
  'node:https': ['gateway/src/transport/', 'shared/src/guarded-http/', 'shared/src/solana/rpc/json-post.ts'],
  'node:http2': ['shared/src/solana/grpc/'],
  'node:tls': ['gateway/src/transport/'],
};

/** No I/O, no environment, no logger: these may import only each other and these packages. */
const pureFolders = [
  'venues/src/',
  'shared/src/wire/',
  'shared/src/codec/',
  'shared/src/wire/values/money.ts',
  'shared/src/market/pools/depth-share.ts',
];
const pureMayUse = [...pureFolders, 'shared/src/solana/'];
const purePackages: ReadonlySet<string> = new Set(['typebox', 'node:buffer', 'node:crypto']);

/** Only these folders may import the signer, with its custody. */
const signerUsers = ['trading/src/', 'cli/', 'test/'];

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
  if (to.startsWith('trading/src/signer/') && !signerUsers.some((folder) => from.startsWith(folder)))
    return 'only trading and the command line reach the signer and its custody';
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
const venueLibraries: ReadonlySet<string> = new Set(['meteora/fees', 'pump/fees']);

/** `<family>/<venue>`. */
function venueOf(path: string): string | null {
  const folder = /^venues\/src\/([^/]+\/[^/]+)\//.exec(path)?.[1] ?? null;
  return folder === null || venueLibraries.has(folder) ? null : folder;
}

/** The `exports` of a package: pattern → target. Null closes what a wider pattern opens. */
type Doors = NonNullable<Manifest['exports']>;

/**
 * A package is entered through its `exports`. TypeScript and Node.js refuse a specifier that is not among them; this check refuses a path
 * around them, and a package with too many. Tests may also import the inner modules of a package, by their paths.
 */
export const faces: HouseCheck = {
  name: 'faces of packages',
  async run(root) {
    const manifests = productPackages.map((folder) => ({ folder, doors: readManifest(join(root, folder)).exports ?? {} }));
    const crowded = manifests.filter(({ doors }) => doorsOf(doors).length > mostDoors);
    const imports = sourceFiles(root).filter(isTypeScript).flatMap(importsOf);
    return [
      ...crowded.map(({ folder, doors }) => `${folder} has ${doorsOf(doors).length} doors; at most ${mostDoors} are allowed`),
      ...faceFaults(imports),
    ];
  },
};

function doorsOf(doors: Doors): readonly string[] {
  return Object.entries(doors).flatMap(([door, target]) => (target === null ? [] : [door]));
}

/** One sentence for each import that enters a package by a path. */
export function faceFaults(imports: readonly Import[]): readonly string[] {
  return imports.flatMap(({ from, to, specifier }) => {
    const [source, target] = [layerOf(from), to === null || to.endsWith('package.json') ? null : layerOf(to)];
    // The root, of which the command line is a part, is no package that others import.
    const isBehind = source !== null && source !== 'test' && target !== null && target !== source && target !== 'cli';
    return isBehind && specifier.startsWith('.')
      ? [`${from} imports ${specifier}: enter ${target} through the exports of its package`]
      : [];
  });
}
