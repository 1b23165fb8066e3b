import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Folder of the project, or of the installed release. A compiled module is in `.build/<name>/`. */
const root = fileURLToPath(new URL(import.meta.url.endsWith('.ts') ? '../../../..' : '../..', import.meta.url)).replace(/\/$/, '');
/** npm may install the packages of a release into the folder that contains the release. */
const besideRoot = basename(dirname(root)) === 'node_modules' ? dirname(root) : null;

/**
 * Folder of a package that is not compiled into the programs. By its name, Node.js would also search for it in every folder above. If the
 * package is missing, it is the folder where the project would have it.
 */
export function installedPackage(name: string): string {
  const own = join(root, 'node_modules', name);
  return besideRoot === null || existsSync(own) ? own : join(besideRoot, name);
}

/** Loads such a package; returns its exports. Throws if it is missing. */
export function loadInstalled(name: string): unknown {
  return createRequire(import.meta.url)(installedPackage(name));
}
