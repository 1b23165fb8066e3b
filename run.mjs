/**
 * Runs a program of the project: `node run.mjs start`. Where its sources are here and newer than what was compiled of them they are compiled first, by a process
 * of its own; what runs is plain JavaScript of the project's own folder `.build`, and no loader.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { checkOwner, currentBuild, isFresh, root } from './compile/build-folder.mjs';
import { programs } from './compile/programs.mjs';

// Whoever may send this signal would otherwise open Node's debugger, and read every key and wallet in the process.
process.on('SIGUSR1', () => undefined);

const compiler = join(root, 'compile/compile.mjs');
const hasSources = existsSync(join(root, programs.start));

/** The folder of the compiled programs. Throws where there is none, or somebody else could have written it. */
function freshBuild() {
  if (hasSources && !isFresh()) {
    const { status, error } = spawnSync(process.execPath, [compiler], { stdio: ['ignore', 2, 2] });
    if (status !== 0) throw new Error(`The project cannot be compiled${error === undefined ? '' : `: ${error.message}`}.`);
  }
  const folder = currentBuild();
  if (folder === null) throw new Error(`${root}/.build holds no compiled program. Unpack the release again.`);
  checkOwner(folder);
  return folder;
}

const [name = '', ...args] = process.argv.slice(2);
let folder;
try {
  if (name !== 'build' && !Object.hasOwn(programs, name)) {
    throw new Error(`There is no program ${JSON.stringify(name)}. There are: build, ${Object.keys(programs).join(', ')}.`);
  }
  folder = freshBuild();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}
if (name !== 'build') {
  const file = join(folder, `${name}.js`);
  process.argv = [process.execPath, file, ...args];
  await import(pathToFileURL(file).href);
}
