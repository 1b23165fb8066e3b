import { chownSync, statSync } from 'node:fs';

/** Gives a file that root created to the owner of its folder, who could otherwise not read it. */
export function giveToOwner(file: string, folder: string): void {
  if (process.geteuid?.() !== 0) return;
  const { uid, gid } = statSync(folder);
  chownSync(file, uid, gid);
}
