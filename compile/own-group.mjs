import { chmodSync, lstatSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const groupMayWrite = 0o020;

/**
 * npm installs files with the umask of the user, and on many systems this lets the user's own group write. Takes this right from
 * everything in `folder` if the group has no other member. Otherwise changes nothing, and the build is then refused. @param {string} folder
 */
export function denyOwnGroup(folder) {
  const stats = lstatSync(folder);
  if (!stats.isDirectory() || (stats.mode & groupMayWrite) === 0 || stats.uid !== process.getuid?.() || !isAlone(stats)) return;
  for (const path of [folder, ...readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name))]) {
    const found = lstatSync(path);
    if (found.isSymbolicLink() || found.uid !== stats.uid || found.gid !== stats.gid) continue;
    chmodSync(path, found.mode & 0o7777 & ~groupMayWrite);
  }
}

/** Whether this machine's own files name no other member of the group. @param {{ uid: number, gid: number }} owner */
function isAlone({ uid, gid }) {
  const users = readTable('/etc/passwd');
  const group = readTable('/etc/group').find(([, , id]) => id === String(gid));
  const name = users.find(([, , id]) => id === String(uid))?.[0];
  if (name === undefined || group === undefined) return false;
  const members = (group[3] ?? '').split(',').filter((member) => member !== '');
  return members.every((member) => member === name) && users.every(([other, , , id]) => other === name || id !== String(gid));
}

/** Lines of `name:…:…`. @param {string} file @returns {readonly (readonly string[])[]} */
function readTable(file) {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split(':'));
}
