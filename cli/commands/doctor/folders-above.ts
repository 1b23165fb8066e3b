import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathFault } from '@sluice/trading/signer/files/own-files.ts';
import { ok, warn, type Finding } from './finding.ts';

const name = 'folders above';
const othersMayWrite = 0o002;
const instead = 'Start sluice with `node run.mjs start`, or move the project below folders that no other user can write to.';

/** `npx` runs a pnpm that it finds in any folder above the project, before any code of sluice. */
export function checkFoldersAbove(project: string): Finding {
  const folders = above(project);
  for (const folder of folders) {
    const bin = join(folder, 'node_modules/.bin');
    const planted = existsSync(bin) ? readdirSync(bin).find((file) => /^pnpm(@|$)/.test(file)) : undefined;
    if (planted !== undefined) return warn(name, `npx runs ${join(bin, planted)} instead of pnpm. Remove it. ${instead}`);
    // The sticky bit does not help: any user can still add files.
    if ((statSync(folder).mode & othersMayWrite) !== 0)
      return warn(name, `any user can put a pnpm into ${folder}, and npx would run it. ${instead}`);
  }
  const [uid, gid] = [process.getuid?.(), process.getgid?.()];
  const fault = uid === undefined || gid === undefined ? null : pathFault(dirname(project), { uid, gid });
  return fault === null
    ? ok(name, `no other user can write to the folders above ${project}`)
    : warn(name, `${fault} npx would run a pnpm in that folder. ${instead}`);
}

/** All folders above, the nearest first. */
function above(path: string): readonly string[] {
  const folder = dirname(path);
  return folder === path ? [] : [folder, ...above(folder)];
}
