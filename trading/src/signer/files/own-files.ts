import { readdirSync, lstatSync, readFileSync, readlinkSync, type Stats } from 'node:fs';
import { join, dirname, resolve } from 'node:path';
import { isCode } from '@sluice/gateway/store/files/files.ts';

const othersMayWrite = 0o022;
const sticky = 0o1000;
const maxLinks = 40;

/** The user and group whose files are trusted, in addition to root's. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Checks whether a user other than root and `owner` can change what is read at `path`. Returns a sentence with the command that fixes
 * it. Null: nobody else can, or nothing exists there. It checks the file, every folder above it, and every link on the way:
 *
 * - each must belong to root or to `owner`;
 * - nobody else may write to `path` itself. A folder above it may be writable by others if its sticky bit stops them from renaming files
 *   that are not theirs, and by a group of which only `owner` is a member (many systems create one for each user).
 */
export function pathFault(path: string, owner: Owner): string | null {
  const parts = partsOf(path);
  let place = '/';
  let links = 0;
  const last = (): boolean => parts.length === 0;
  try {
    const rootFault = statsFault(place, lstatSync(place), owner, false);
    if (rootFault !== null) return rootFault;
    for (let part = parts.shift(); part !== undefined; part = parts.shift()) {
      const next = join(place, part);
      const stats = lstatSync(next);
      const fault = statsFault(next, stats, owner, last());
      if (fault !== null) return fault;
      if (!stats.isSymbolicLink()) {
        place = next;
        continue;
      }
      if (++links > maxLinks) return `${path} leads through more than ${maxLinks} links. Name the file itself.`;
      parts.unshift(...partsOf(resolve(place, readlinkSync(next))));
      place = '/';
    }
    return null;
  } catch (error) {
    if (isCode(error, 'ENOENT') || isCode(error, 'ENOTDIR')) return null;
    throw error;
  }
}

function partsOf(path: string): string[] {
  return resolve(path)
    .split('/')
    .filter((part) => part !== '');
}

function statsFault(path: string, stats: Stats, owner: Owner, isItself: boolean): string | null {
  if (stats.uid !== 0 && stats.uid !== owner.uid) {
    const to = `sluice runs as the user ${owner.uid}, and trusts nobody else's files but root's`;
    return `${path} belongs to the user ${stats.uid}: ${to}. Run: chown ${stats.isSymbolicLink() ? '-h ' : ''}${owner.uid} '${path}'`;
  }
  // The mode of a link has no effect.
  if (stats.isSymbolicLink() || (stats.mode & othersMayWrite) === 0) return null;
  if (!isItself && ((stats.mode & sticky) !== 0 || isOwnGroupAlone(stats, owner))) return null;
  const mode = (stats.mode & 0o7777).toString(8).padStart(4, '0');
  return `${path} can be written by other users (mode ${mode}). Run: chmod go-w '${path}'`;
}

/** Whether only the group may write, and no other user is a member according to this machine's own files. */
function isOwnGroupAlone({ mode, gid }: Stats, owner: Owner): boolean {
  if ((mode & 0o002) !== 0 || gid !== owner.gid) return false;
  const [users, groups] = [readTable('/etc/passwd'), readTable('/etc/group')];
  const name = users.find(([, , uid]) => uid === String(owner.uid))?.[0];
  const group = groups.find(([, , id]) => id === String(gid));
  if (name === undefined || group === undefined) return false;
  const members = (group[3] ?? '').split(',').filter((member) => member !== '');
  return members.every((member) => member === name) && users.every(([other, , , id]) => other === name || id !== String(gid));
}

/** Lines of `name:…:…`. */
function readTable(file: string): readonly (readonly string[])[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split(':'));
}

/** The first `levels` folders from `path` upwards. */
function foldersAbove(path: string, levels: number): readonly string[] {
  const above = dirname(path);
  return levels === 0 ? [] : [above, ...foldersAbove(above, levels - 1)];
}

export interface FilesRead {
  /** The compiled program, in a build folder under `.build`. Null: not checked. */
  readonly program: string | null;
  readonly passphraseFile: string;
  /** `DATA_DIR` of the gateway that started the process. Null: the process serves gateways of another user and reads none of their files. */
  readonly dataDir: string | null;
  /** Folder of the audit logs, the operator's policy and the halt mark. */
  readonly auditFolder: string;
}

/** The gateway's settings, including limits, in its working folder. */
const settingsFile = '.env';
/** The files of the embedded store, in `DATA_DIR`. */
const storeFiles = ['sluice.db', 'sluice.db-wal', 'sluice.db-shm'];

/** How another user could change the program, passphrase, limits, store or audit logs; null: nobody can. Throws the system's error. */
export function filesFault({ program, passphraseFile, dataDir, auditFolder }: FilesRead): string | null {
  const owner: Owner = { uid: process.geteuid?.() ?? 0, gid: process.getegid?.() ?? 0 };
  const paths = [
    ...(program === null ? [] : [program, ...foldersAbove(program, 2)]),
    passphraseFile,
    settingsFile,
    ...(dataDir === null ? [] : [dataDir, ...storeFiles.map((name) => join(dataDir, name))]),
    auditFolder,
    ...namesIn(auditFolder).map((name) => join(auditFolder, name)),
  ];
  for (const path of paths) {
    const fault = pathFault(path, owner);
    if (fault !== null) return fault;
  }
  return null;
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (isCode(error, 'ENOENT')) return [];
    throw error;
  }
}
