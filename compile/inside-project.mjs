import { existsSync, lstatSync, readFileSync, realpathSync } from 'node:fs';
import { createRequire, isBuiltin } from 'node:module';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { hasSources, root } from './build-folder.mjs';
import { loadedAtRunTime, optional } from './programs.mjs';

/**
 * Thrown if a build would contain code from outside the project. esbuild and Node.js also search every folder above the project for packages
 * and settings, and in a shared folder (`/tmp`) another user can put some there.
 */
export class ForeignCodeError extends Error {}

/** Manifests of Yarn that esbuild follows. */
const pnpNames = ['.pnp.data.json', '.pnp.cjs', '.pnp.js'];
const optionalNamespace = 'optional';
const installAgain = hasSources ? 'Install the packages of the project: npx -y pnpm@12 install' : 'Install the release again.';
/** The folder into which npm installed this release, with all its packages; pnpm has links to them there. Empty for a clone. */
const installedIn = !hasSources && basename(dirname(root)) === 'node_modules' ? [dirname(root)] : [];
const pnpmStore = installedIn.map((folder) => join(folder, '../..')).filter((folder) => basename(folder) === '.pnpm');

const linked = ['node_modules', 'node_modules/.pnpm', 'programs/replaced'].map((path) => join(root, path));
/** The project and the folders that its owner linked into it, with links resolved. */
const ownFolders = [root, ...linked, ...installedIn, ...pnpmStore].flatMap((path) => {
  try {
    return [realpathSync(path)];
  } catch {
    return [];
  }
});

/** @param {string} path */
function isOwn(path) {
  return ownFolders.some((folder) => path.startsWith(folder + sep));
}

/** Refuses manifests that redirect packages. They can be in any folder above the project. */
export function refusePnpManifests() {
  const folders = new Set(ownFolders.flatMap(withFoldersAbove));
  for (const path of [...folders].flatMap((folder) => pnpNames.map((name) => join(folder, name)))) {
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) continue;
    throw new ForeignCodeError(`${path} would decide which packages are compiled. Nothing was compiled.
Remove the file, or move the project to a folder above which no other user can write.`);
  }
}

/** @param {string} folder @returns {string[]} */
function withFoldersAbove(folder) {
  const above = dirname(folder);
  return above === folder ? [folder] : [folder, ...withFoldersAbove(above)];
}

/**
 * Loads a package of the project, never one from a folder above.
 * @param {string} path
 */
export function loadOwn(path) {
  const require = createRequire(join(root, 'package.json'));
  return require(resolveFrom(join(root, 'node_modules', path)));
}

/** @param {string} path */
function resolveFrom(path) {
  try {
    return realpathSync(path);
  } catch (error) {
    throw new ForeignCodeError(`${path} is missing. ${installAgain}`, { cause: error });
  }
}

/**
 * Packages with machine code have a separate package for each platform. If that is missing, Node.js would use one from a folder above.
 * @param {string} name @param {string} platformPackage beginning of the name of the package with the machine code
 */
export function checkMachineCode(name, platformPackage) {
  const own = join(root, 'node_modules', name, 'package.json');
  const paths = [own, ...installedIn.map((folder) => join(folder, name, 'package.json'))];
  const manifest = resolveFrom(paths.find((path) => existsSync(path)) ?? own);
  const { dependencies = {}, optionalDependencies = {} } = JSON.parse(readFileSync(manifest, 'utf8'));
  const require = createRequire(manifest);
  /** @param {string} needed */
  const pathOf = (needed) => {
    const path = require.resolve
      .paths(needed)
      ?.map((folder) => join(folder, needed))
      .find((each) => existsSync(each));
    return path === undefined ? null : realpathSync(path);
  };
  const forPlatform = Object.keys(optionalDependencies).filter((each) => each.startsWith(platformPackage));
  const found = [...Object.keys(dependencies), ...forPlatform].map((needed) => ({ needed, path: pathOf(needed) }));
  for (const { needed, path } of found) {
    if (path !== null && !isOwn(path)) {
      throw new ForeignCodeError(`${name} would load ${path}, which is not part of the project, because ${needed} is missing.
${installAgain}`);
    }
  }
}

/** @type {import('esbuild').Plugin} */
export const packages = {
  name: 'packages',
  setup(build) {
    // A package tries to load each of these, and works without it. It finds none, even if one exists.
    build.onResolve({ filter: exactly(loadedAtRunTime) }, ({ path }) => ({
      errors: [{ text: `${path} has machine code. Load it with \`loadInstalled\`.` }],
    }));
    build.onResolve({ filter: exactly(optional) }, ({ path }) => ({ path, namespace: optionalNamespace }));
    build.onLoad({ filter: /^/, namespace: optionalNamespace }, ({ path }) => ({
      contents: `throw Object.assign(new Error("Cannot find module '${path}'"), { code: 'MODULE_NOT_FOUND' });`,
    }));
  },
};

/** @param {readonly string[]} names */
function exactly(names) {
  return new RegExp(`^(?:${names.map((name) => name.replaceAll('.', '\\.')).join('|')})$`);
}

/**
 * Refuses a build that contains code from outside the project, or that would search for a package at run time.
 * @param {import('esbuild').Metafile | undefined} metafile
 */
export function checkOrigin(metafile) {
  if (metafile === undefined) throw new TypeError('esbuild did not report what it compiled.');
  const { inputs, outputs } = metafile;
  for (const input of Object.keys(inputs).filter((name) => !name.startsWith(`${optionalNamespace}:`))) {
    const path = realpathSync(resolve(root, input));
    if (isOwn(path)) continue;
    throw new ForeignCodeError(`${path} is not part of the project, and would be compiled into its programs. The build was removed.
Install the packages of the project again (npx -y pnpm@12 install), or move it to a folder above which no other user can write.`);
  }
  for (const { path, external } of Object.values(outputs).flatMap(({ imports }) => imports)) {
    if (!external || isBuiltin(path)) continue;
    throw new ForeignCodeError(`A package of the project searches for ${path} at run time, also in every folder above. The build was removed.
Add ${path} to the packages of the project, or to \`optional\` in compile/programs.mjs.`);
  }
}
