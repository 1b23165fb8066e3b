import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HouseCheck } from './house-check.ts';

const timeoutMs = 15 * 60_000;

/** A check by a program of one of our packages. It passes if the program exits with 0. */
function tool(name: string, packageName: string, program: string, args: readonly string[]): HouseCheck {
  return {
    name,
    run: (root) =>
      new Promise((resolve) => {
        const script = programOf(root, packageName, program);
        // oxlint looks for its type-aware part in PATH.
        const path = `${join(root, 'test/node_modules/.bin')}:${process.env['PATH'] ?? ''}`;
        execFile(
          process.execPath,
          [script, ...args],
          {
            cwd: root,
            timeout: timeoutMs,
            maxBuffer: 64 * 1024 * 1024,
            env: { ...process.env, PATH: path, NO_COLOR: '1', FORCE_COLOR: '0' },
          },
          (error, stdout, stderr) => resolve(error === null ? [] : faultsOf(`${stdout}\n${stderr}`, error)),
        );
      }),
  };
}

const maxLines = 60;

function faultsOf(output: string, error: Error): readonly string[] {
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  if (lines.length === 0) return [error.message];
  return lines.length <= maxLines ? lines : [...lines.slice(0, maxLines), `… and ${lines.length - maxLines} more lines`];
}

function programOf(root: string, packageName: string, program: string): string {
  const folder = join(root, 'test/node_modules', packageName);
  const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    readonly bin: string | Readonly<Record<string, string>>;
  };
  const path = typeof bin === 'string' ? bin : bin[program];
  if (path === undefined) throw new Error(`${packageName} has no program ${program}`);
  return join(folder, path);
}

/**
 * Lints every file, and checks its types by the nearest `tsconfig.json`; the dashboard has its own. A separate run of `tsc` would read the whole
 * project a second time.
 */
export const lintAndTypes = tool('lint and types', 'oxlint', 'oxlint', ['--deny-warnings', '--type-check', '--format=unix']);
export const format = tool('format', 'oxfmt', 'oxfmt', ['--check', '.']);
export const deadCode = tool('dead code and unused packages', 'knip', 'knip', ['--no-progress', '--tsConfig', 'tsconfig.base.json']);
