import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorTable } from '@sluice/shared/errors/codes.ts';
import type { HouseCheck } from './house-check.ts';

/** REFERENCE.md lists every error that a client can receive, with its status, and no other error. */
export const documentedErrors: HouseCheck = {
  name: 'errors against REFERENCE.md',
  async run(root) {
    const file = join(root, 'REFERENCE.md');
    if (!existsSync(file)) return ['REFERENCE.md: the file does not exist'];
    const text = readFileSync(file, 'utf8');
    const rows = text.split('\n').filter((line) => line.startsWith('|'));
    return Object.entries(errorTable).flatMap(([code, { status, closeCode }]) => {
      const row = rows.find((line) => line.includes(`\`${code}\``) && line.includes(String(status)));
      if (row === undefined) return [`REFERENCE.md: no row has ${code} with its status ${status}`];
      return closeCode === undefined || text.includes(String(closeCode))
        ? []
        : [`REFERENCE.md: close code ${closeCode} of ${code} is missing`];
    });
  },
};

/** The generated files equal what `pnpm generate` writes. */
export const generatedFiles: HouseCheck = {
  name: 'generated parts are fresh',
  run: (root) =>
    new Promise((resolve) => {
      execFile(process.execPath, ['run.mjs', 'generate', '--check'], { cwd: root }, (error, stdout, stderr) => {
        const lines = `${stdout}${stderr}`.split('\n').filter((line) => line !== '');
        resolve(error === null ? [] : lines.length > 0 ? lines : [error.message]);
      });
    }),
};
