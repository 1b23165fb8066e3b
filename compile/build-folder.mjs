import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readFileSync, readdirSync, readlinkSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { programs, sourceFiles, sourceFolders } from './programs.mjs';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
/** A release has no sources. */
export const hasSources = existsSync(join(root, programs.start));
/** Contains a folder for each build, and `current`, a link to the build in use. In a release, `current` is the only build. */
export const buildsFolder = join(root, '.build');
const current = join(buildsFolder, 'current');
/** Describes the sources of a build: a line `path size time` for each, and the digest of all. */
const manifestName = 'manifest.json';

/** @typedef {{ readonly digest: string, readonly sources: string }} Manifest */

/** All sources, one a line, with size and time of the last change. */
export function listSources() {
  const lines = [...sourceFiles, ...sourceFolders.flatMap(filesIn)].toSorted().map((path) => {
    const { size, mtimeMs } = lstatSync(`${root}/${path}`);
    return `${path} ${size} ${mtimeMs}`;
  });
  return lines.join('\n');
}

/** @param {string} folder @returns {string[]} */
function filesIn(folder) {
  return readdirSync(`${root}/${folder}`, { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : filesIn(path);
    return entry.isFile() && !entry.name.endsWith('.test.ts') ? [path] : [];
  });
}

/** The name of the build of these sources. @param {string} sources */
export function digestOf(sources) {
  const hash = createHash('sha256');
  for (const line of sources.split('\n')) {
    const path = line.slice(0, line.indexOf(' '));
    const content = readFileSync(`${root}/${path}`);
    hash.update(`${path} ${content.length}\n`).update(content);
  }
  return hash.digest('hex').slice(0, 16);
}

/** The manifest of a build; null if there is no such build. @param {string} folder @returns {Manifest | null} */
function manifestOf(folder) {
  try {
    return JSON.parse(readFileSync(join(folder, manifestName), 'utf8'));
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return null;
    throw error;
  }
}

/** Writes the manifest atomically. @param {string} folder @param {Manifest} manifest */
export function writeManifest(folder, manifest) {
  const draft = join(folder, `${manifestName}.${process.pid}`);
  writeFileSync(draft, JSON.stringify(manifest), { mode: 0o644 });
  renameSync(draft, join(folder, manifestName));
}

/** Folder of the build in use; null if nothing was compiled yet. */
export function currentBuild() {
  try {
    return join(buildsFolder, readlinkSync(current));
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null;
    if (hasCode(error, 'EINVAL') && !hasSources) return current;
    if (hasCode(error, 'EINVAL'))
      throw new Error(`${current} is not a link. Remove the folder ${buildsFolder}; the next start creates it again.`, { cause: error });
    throw error;
  }
}

/** Selects the build to use. @param {string} name */
export function setCurrent(name) {
  const draft = join(buildsFolder, `current.${process.pid}`);
  rmSync(draft, { force: true });
  symlinkSync(name, draft);
  renameSync(draft, current);
}

/** Whether the build in use was compiled from the current sources. */
export function isFresh() {
  const folder = currentBuild();
  const manifest = folder === null ? null : manifestOf(folder);
  if (folder === null || manifest === null) return false;
  const sources = listSources();
  if (manifest.sources === sources) return true;
  // After copying, unpacking or a checkout, the times differ, but the content may be the same.
  if (digestOf(sources) !== manifest.digest) return false;
  checkOwner(folder);
  try {
    writeManifest(folder, { ...manifest, sources });
  } catch (error) {
    // Another user installed it, so the manifest cannot be updated, and the content is compared at each start.
    if (!hasCode(error, 'EACCES', 'EPERM', 'EROFS')) throw error;
  }
  return true;
}

/**
 * Refuses a build that another user could have created or changed: everything in it must belong to root or to the user of this process, be
 * writable for its owner only, and not be a link. @param {string} folder
 */
export function checkOwner(folder) {
  checkPath(buildsFolder, 'folder');
  checkPath(folder, 'folder');
  for (const name of readdirSync(folder)) checkPath(join(folder, name), 'file');
}

/** @param {string} path @param {'file' | 'folder'} kind */
export function checkPath(path, kind) {
  const stats = lstatSync(path);
  const uid = process.getuid?.() ?? 0;
  if (!(kind === 'folder' ? stats.isDirectory() : stats.isFile())) throw new Error(`${path} is not a ${kind}. ${remedy}`);
  if (stats.uid !== uid && stats.uid !== 0) {
    throw new Error(`${path} belongs to the user ${stats.uid}, and this process runs as ${uid}. ${remedy}`);
  }
  if ((stats.mode & 0o022) !== 0) throw new Error(`${path} can be written by others (mode ${modeOf(stats)}). ${remedy}`);
}

const remedy = hasSources
  ? `It is not used. Remove it (rm -rf ${buildsFolder}); the next start compiles the project again.`
  : 'It is not used. With umask 022, install the release again, as root or as the user that runs it.';

/** @param {import('node:fs').Stats} stats */
function modeOf({ mode }) {
  return (mode & 0o7777).toString(8).padStart(4, '0');
}

/** @param {unknown} error @param {readonly string[]} codes */
export function hasCode(error, ...codes) {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}
