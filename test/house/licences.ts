import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { HouseCheck } from './house-check.ts';
import { productPackages, readManifest, type Manifest } from './product-packages.ts';

/** Permissive licences; a package with one of them may be part of what runs. */
const permissive: ReadonlySet<string> = new Set([
  'MIT',
  'MIT-0',
  'ISC',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  '0BSD',
  'BlueOak-1.0.0',
  'Unlicense',
  'CC0-1.0',
  'Python-2.0',
  'Zlib',
]);
const fewestPackages = 30;

/** Among the packages that run, at every depth, none has a copyleft or unknown licence. */
export const licences: HouseCheck = {
  name: 'licences of the packages that run',
  async run(root) {
    const packages = runtimePackages(root);
    const tooFew = packages.size < fewestPackages ? [`only ${packages.size} packages seen, expected ${fewestPackages} or more`] : [];
    const refused = [...packages.values()].flatMap((manifest) => {
      const licence = licenceOf(manifest);
      return isPermissive(licence) ? [] : [`${manifest.name} ${manifest.version}: ${licence || 'no licence'}`];
    });
    return [...tooFew, ...refused];
  },
};

/** By folder: every package that our `dependencies` lead to. Optional packages for other platforms are not installed. */
function runtimePackages(root: string): ReadonlyMap<string, Manifest> {
  const found = new Map<string, Manifest>();
  const queue = productPackages.map((folder) => join(root, folder));
  for (let folder = queue.pop(); folder !== undefined; folder = queue.pop()) {
    const manifest = readManifest(folder);
    for (const name of Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })) {
      if (name.startsWith('@sluice/')) continue;
      const inner = findPackage(folder, name);
      if (inner === null || found.has(inner)) continue;
      found.set(inner, readManifest(inner));
      queue.push(inner);
    }
  }
  return found;
}

function findPackage(from: string, name: string): string | null {
  for (let folder = from; ; folder = dirname(folder)) {
    const candidate = join(folder, 'node_modules', name);
    if (existsSync(join(candidate, 'package.json'))) return realpathSync(candidate);
    if (folder === dirname(folder)) return null;
  }
}

function licenceOf({ license, licenses }: Manifest): string {
  if (typeof license === 'string') return license;
  return license?.type ?? (licenses ?? []).map((one) => one.type ?? '').join(' OR ');
}

/** An SPDX expression: one side of `OR` must be permissive, both sides of `AND`. */
export function isPermissive(expression: string): boolean {
  const bare = expression.replaceAll(/[()]/g, ' ').trim();
  if (bare.includes(' OR ')) return bare.split(' OR ').some(isPermissive);
  if (bare.includes(' AND ')) return bare.split(' AND ').every(isPermissive);
  return permissive.has(bare);
}
