import { programs, signer } from '../../compile/programs.mjs';
import type { HouseCheck } from './house-check.ts';
import { importsOf } from './imports.ts';
import { isTypeScript, sourceFiles } from './source-files.ts';

const entries = [...Object.values(programs), ...Object.values(signer)];
const productFolders = ['shared/src/', 'ingest/src/', 'gateway/src/', 'cli/'];

/** A module that no command reaches is dead, or lives for its tests alone. */
export const reach: HouseCheck = {
  name: 'every module is reached from a command',
  async run(root) {
    const files = new Map(
      sourceFiles(root)
        .filter(isTypeScript)
        .map((file) => [file.path, file]),
    );
    const missing = entries.filter((entry) => !files.has(entry)).map((entry) => `${entry}: there is no such file`);
    const reached = new Set<string>();
    const queue = [...entries];
    for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
      const file = files.get(path);
      if (file === undefined || reached.has(path)) continue;
      reached.add(path);
      queue.push(...importsOf(file).flatMap((one) => (one.to === null ? [] : [one.to])));
    }
    const unreached = [...files.keys()].filter((path) => productFolders.some((folder) => path.startsWith(folder)) && !reached.has(path));
    return [...missing, ...unreached.map((path) => `${path}: no command reaches it`)];
  },
};
