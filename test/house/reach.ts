import { join } from 'node:path';
import { programs, signer } from '../../compile/programs.mjs';
import type { HouseCheck } from './house-check.ts';
import { importsOf } from './imports.ts';
import { packageOf, productPackages, readManifest } from './product-packages.ts';
import { isTypeScript, sourceFiles, type SourceFile } from './source-files.ts';

const entries = [...Object.values(programs), ...Object.values(signer)];
const productFolders = [
  'shared/src/',
  'venues/src/',
  'programs/src/',
  'followers/src/',
  'ingest/src/',
  'gateway/src/',
  'trading/src/',
  'site/src/',
  'cli/',
];
/** Runs before anything is compiled. */
const compiler = /^(run\.mjs|compile\/.*\.mjs)$/;

/** A module that no command reaches is dead, or is used by its tests alone. */
export const reach: HouseCheck = {
  name: 'every module is reached from a command',
  async run(root) {
    const files = new Map(
      sourceFiles(root)
        .filter(isTypeScript)
        .map((file) => [file.path, file]),
    );
    const missing = entries.filter((entry) => !files.has(entry)).map((entry) => `${entry}: the file does not exist`);
    const reached = reachedFrom(entries, files);
    const unreached = [...files.keys()].filter((path) => productFolders.some((folder) => path.startsWith(folder)) && !reached.has(path));
    return [...missing, ...unreached.map((path) => `${path}: no command reaches it`)];
  },
};

/**
 * `pnpm start` installs the `dependencies` of `productPackages` and nothing else. So each file that a command reaches belongs to one
 * of these packages, and each package that it imports is among the `dependencies` of its own.
 */
export const productDependencies: HouseCheck = {
  name: 'the product imports its own dependencies only',
  async run(root) {
    const all = sourceFiles(root);
    const files = new Map(all.filter(isTypeScript).map((file) => [file.path, file]));
    const product = [
      ...[...reachedFrom(entries, files)].flatMap((path) => files.get(path) ?? []),
      ...all.filter(({ path }) => compiler.test(path)),
    ];
    const manifests = productPackages.map((folder) => ({ folder, ...readManifest(join(root, folder)) }));
    const development = manifests.filter((manifest) => manifest.devDependencies !== undefined);
    const declared = new Map(manifests.map(({ folder, dependencies = {} }) => [folder as string, new Set(Object.keys(dependencies))]));
    return [
      ...development.map(({ folder }) => `${join(folder, 'package.json')}: move devDependencies to test/package.json`),
      ...dependencyFaults(product, declared),
    ];
  },
};

/** One sentence for each import of a package that the importing file's own package does not declare. */
export function dependencyFaults(files: readonly SourceFile[], declared: ReadonlyMap<string, ReadonlySet<string>>): readonly string[] {
  return files.flatMap((file) => {
    if (file.path.startsWith('test/') && !file.path.startsWith('test/simnet/'))
      return [`${file.path}: a command imports it, but it is a test`];
    const folder = packageOf(file.path);
    return importsOf(file).flatMap((one) => {
      const name = one.package ?? /^@sluice\/\w+/.exec(one.specifier)?.[0] ?? null;
      if (name === null || name.startsWith('node:') || declared.get(folder)?.has(name) === true) return [];
      return [`${file.path} imports ${name}: add it to the dependencies of ${join(folder, 'package.json')}`];
    });
  });
}

/** Paths of these modules and of all modules that they import, directly or indirectly. */
function reachedFrom(starts: readonly string[], files: ReadonlyMap<string, SourceFile>): ReadonlySet<string> {
  const reached = new Set<string>();
  const queue = [...starts];
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    const file = files.get(path);
    if (file === undefined || reached.has(path)) continue;
    reached.add(path);
    queue.push(...importsOf(file).flatMap((one) => (one.to === null ? [] : [one.to])));
  }
  return reached;
}
