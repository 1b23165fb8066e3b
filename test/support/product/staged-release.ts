import { cpSync, existsSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { stageProduct } from '../../../compile/release/product.mjs';

const root = join(import.meta.dirname, '../../..');

/**
 * Writes the content of the release into `folder/node_modules`, with libsql, as npm installs it, but without npm and without
 * `uWebSockets.js`. Returns the release's own folder.
 */
export function installStaged(folder: string): string {
  const release = join(folder, 'node_modules/sluice');
  stageProduct(release, null);
  copyPackage(join(root, 'node_modules/libsql'), join(folder, 'node_modules'), 'libsql');
  return release;
}

/** With all packages that it needs. Those of other platforms are not there. */
function copyPackage(from: string, to: string, name: string): void {
  if (!existsSync(from)) return;
  const source = realpathSync(from);
  cpSync(source, join(to, name), { recursive: true, dereference: true });
  const { dependencies = {}, optionalDependencies = {} } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8')) as {
    readonly dependencies?: object;
    readonly optionalDependencies?: object;
  };
  const siblings = name.startsWith('@') ? dirname(dirname(source)) : dirname(source);
  for (const needed of Object.keys({ ...dependencies, ...optionalDependencies })) copyPackage(join(siblings, needed), to, needed);
}
