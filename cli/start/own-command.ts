import { existsSync, realpathSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of the project or of the release. */
const ownRoot = fileURLToPath(new URL('../..', import.meta.url));

/** How a user runs a command of this installation in the folder of this process: by pnpm in a clone; in a release by the link that npm made. */
export function ownCommand(root = ownRoot, workingFolder = process.cwd()): string {
  if (isClone(root)) return 'npx -y pnpm@12 sluice';
  const program = installedProgram(root);
  return relative(workingFolder, program) === 'node_modules/.bin/sluice' ? 'npx sluice' : program;
}

/** How another program, such as an agent, runs a command of this installation from any folder. */
export function ownProgram(root = ownRoot): { readonly command: string; readonly args: readonly string[] } {
  if (isClone(root)) return { command: 'npx', args: ['-y', 'pnpm@12', '--dir', join(root, '.'), 'sluice'] };
  return { command: installedProgram(root), args: [] };
}

function isClone(root: string): boolean {
  return existsSync(join(root, 'cli'));
}

/** The program of a release: `sluice` if it is installed globally, otherwise its path. */
function installedProgram(root: string): string {
  const program = join(root, 'sluice');
  const leadsThere = (path: string): boolean => existsSync(path) && realpathSync(path) === realpathSync(program);
  if (leadsThere(join(root, '../../../bin/sluice'))) return 'sluice';
  const local = join(root, '../.bin/sluice');
  return leadsThere(local) ? local : program;
}
