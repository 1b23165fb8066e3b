import { chownSync, statSync } from 'node:fs';

/** What root makes in a folder of somebody else belongs to that user, who could otherwise not read it. */
export function giveToOwner(file: string, folder: string): void {
  if (process.geteuid?.() !== 0) return;
  const { uid, gid } = statSync(folder);
  chownSync(file, uid, gid);
}
