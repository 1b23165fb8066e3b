import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { HouseCheck } from './house-check.ts';

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string | { readonly type?: string };
  readonly licenses?: readonly { readonly type?: string }[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** Permissive ones; with any of these a package may be part of what runs. */
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
]);
const workspaces = ['.', 'shared', 'ingest', 'gateway', 'test'];
const fewestPackages = 30;

/** No copyleft and nothing unknown among the packages that run, all the way down. */
export const licences: HouseCheck = {
  name: 'licences of what runs',
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

/** By folder: every package that a `dependencies` of ours leads to. Optional ones for other platforms are not installed. */
function runtimePackages(root: string): ReadonlyMap<string, Manifest> {
  const found = new Map<string, Manifest>();
  const queue = workspaces.map((workspace) => join(root, workspace));
  for (let folder = queue.pop(); folder !== undefined; folder = queue.pop()) {
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
    for (const name of Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })) {
      if (name.startsWith('@sluice/')) continue;
      const inner = findPackage(folder, name);
      if (inner === null || found.has(inner)) continue;
      found.set(inner, JSON.parse(readFileSync(join(inner, 'package.json'), 'utf8')) as Manifest);
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

/** An SPDX expression: of `OR` one side must do, of `AND` both. */
export function isPermissive(expression: string): boolean {
  const bare = expression.replaceAll(/[()]/g, ' ').trim();
  if (bare.includes(' OR ')) return bare.split(' OR ').some(isPermissive);
  if (bare.includes(' AND ')) return bare.split(' AND ').every(isPermissive);
  return permissive.has(bare);
}
