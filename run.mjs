/**
 * Runs a program of the project: `node run.mjs start`. If the sources exist and have changed since the last build, a separate process
 * compiles them first. The program is plain JavaScript in the project's folder `.build`; no loader is used.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildsFolder, checkOwner, currentBuild, hasSources, isFresh, root } from './compile/build-folder.mjs';
import { checkMachineCode } from './compile/inside-project.mjs';
import { denyOwnGroup } from './compile/own-group.mjs';
import { machineCode, programs } from './compile/programs.mjs';

// By default, this signal opens Node's debugger, through which another process could read every key and wallet.
process.on('SIGUSR1', () => undefined);

const compiler = join(root, 'compile/compile.mjs');

/** The folder of the compiled programs. Throws if there is none, or if another user could have written it. */
function freshBuild() {
  if (hasSources && !isFresh()) {
    const { status, error } = spawnSync(process.execPath, [compiler], { stdio: ['ignore', 2, 2] });
    if (status !== 0) throw new Error(`The project cannot be compiled${error === undefined ? '' : `: ${error.message}`}.`);
  }
  const folder = currentBuild();
  if (folder === null) throw new Error(`There is no compiled program in ${root}/.build. Unpack the release again.`);
  if (!hasSources) {
    denyOwnGroup(buildsFolder);
    // In a clone, the compiler has checked this.
    for (const [name, platformPackage] of Object.entries(machineCode)) checkMachineCode(name, platformPackage);
  }
  checkOwner(folder);
  return folder;
}

const [name = '', ...args] = process.argv.slice(2);
let folder;
try {
  if (name !== 'build' && !Object.hasOwn(programs, name)) {
    throw new Error(`There is no program ${JSON.stringify(name)}. Programs: build, ${Object.keys(programs).join(', ')}.`);
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
