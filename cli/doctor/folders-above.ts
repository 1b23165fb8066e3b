import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathFault } from '@sluice/gateway/signer/trusted-path.ts';
import { ok, warn, type Finding } from './finding.ts';

const name = 'folders above';
const othersMayWrite = 0o002;
const instead = 'Start the product with `node run.mjs start`, or move the project to where nobody else may write above it.';

/** `npx` runs a pnpm that it finds in a folder above the project, before any code of sluice. */
export function checkFoldersAbove(project: string): Finding {
  const folders = above(project);
  for (const folder of folders) {
    const bin = join(folder, 'node_modules/.bin');
    const planted = existsSync(bin) ? readdirSync(bin).find((file) => /^pnpm(@|$)/.test(file)) : undefined;
    if (planted !== undefined) return warn(name, `npx runs ${join(bin, planted)} in place of pnpm. Remove it. ${instead}`);
    // A sticky folder as well: it does not keep anybody from adding something.
    if ((statSync(folder).mode & othersMayWrite) !== 0)
      return warn(name, `any user may put a pnpm into ${folder}, and npx runs it. ${instead}`);
  }
  const [uid, gid] = [process.getuid?.(), process.getgid?.()];
  const fault = uid === undefined || gid === undefined ? null : pathFault(dirname(project), { uid, gid });
  return fault === null
    ? ok(name, `nobody else may write above ${project}`)
    : warn(name, `${fault} npx runs a pnpm that is put there. ${instead}`);
}

/** The nearest first. */
function above(path: string): readonly string[] {
  const folder = dirname(path);
  return folder === path ? [] : [folder, ...above(folder)];
}
