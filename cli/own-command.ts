import { existsSync, realpathSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * How a user runs a command of this installation in the folder of this process: by pnpm in a clone; in a release by the link that npm made.
 * `root` is the folder of the project or of the release.
 */
export function ownCommand(
  root = fileURLToPath(new URL(import.meta.url.endsWith('.ts') ? '..' : '../..', import.meta.url)),
  workingFolder = process.cwd(),
): string {
  if (existsSync(join(root, 'cli'))) return 'npx -y pnpm@12 sluice';
  const program = join(root, 'sluice');
  const leadsThere = (path: string): boolean => existsSync(path) && realpathSync(path) === realpathSync(program);
  if (leadsThere(join(root, '../../../bin/sluice'))) return 'sluice';
  const local = join(root, '../.bin/sluice');
  if (!leadsThere(local)) return program;
  return relative(workingFolder, local) === 'node_modules/.bin/sluice' ? 'npx sluice' : local;
}
