import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string | { readonly type?: string };
  readonly licenses?: readonly { readonly type?: string }[];
  readonly scripts?: Readonly<Record<string, string>>;
  readonly exports?: Readonly<Record<string, unknown>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** Folders of the packages that `pnpm start` installs. With the root, they equal `packages` in pnpm-workspace.yaml. */
export const productPackages = [
  '.',
  'shared',
  'venues',
  'programs',
  'followers',
  'ingest',
  'gateway',
  'trading',
  'site',
  'client',
  'test/simnet',
] as const;

/** The folder in `productPackages` that contains this file of the product. */
export function packageOf(path: string): string {
  return productPackages.find((folder) => path.startsWith(`${folder}/`)) ?? '.';
}

export function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
}
