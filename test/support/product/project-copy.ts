import { cpSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { sourceFiles, sourceFolders } from '../../../compile/programs.mjs';
import { productPackages } from '../../house/product-packages.ts';

const project = join(import.meta.dirname, '../../..');

/** Replacements of packages that others load but do not need. */
const replaced = 'programs/replaced';

/** A copy of the project in `folder`, with its own sources. The packages from the registry are links to those of the project. */
export function copyProject(folder: string): void {
  for (const path of [...sourceFiles, ...sourceFolders, 'run.mjs']) {
    if (path === replaced) continue;
    cpSync(join(project, path), join(folder, path), { recursive: true, filter: (from) => !from.endsWith('/node_modules') });
  }
  const store = join(project, 'node_modules/.pnpm');
  for (const part of productPackages) {
    cpSync(join(project, part, 'node_modules'), join(folder, part, 'node_modules'), {
      recursive: true,
      verbatimSymlinks: true,
      filter: (path) => path !== store && !path.endsWith('/.bin'),
    });
  }
  // Packages of the store refer to it there.
  symlinkSync(join(project, replaced), join(folder, replaced));
  symlinkSync(store, join(folder, 'node_modules/.pnpm'));
}
