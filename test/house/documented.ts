import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorTable } from '@sluice/shared/errors/codes.ts';
import type { HouseCheck } from './house-check.ts';

/** Every error that a client can meet stands in PROTOCOL.md with its status, and no other is named there. */
export const documentedErrors: HouseCheck = {
  name: 'errors against PROTOCOL.md',
  async run(root) {
    const file = join(root, 'PROTOCOL.md');
    if (!existsSync(file)) return ['PROTOCOL.md: there is no such file'];
    const text = readFileSync(file, 'utf8');
    const rows = text.split('\n').filter((line) => line.startsWith('|'));
    return Object.entries(errorTable).flatMap(([code, { status, closeCode }]) => {
      const row = rows.find((line) => line.includes(`\`${code}\``) && line.includes(String(status)));
      if (row === undefined) return [`PROTOCOL.md: no row tells ${code} with its status ${status}`];
      return closeCode === undefined || text.includes(String(closeCode))
        ? []
        : [`PROTOCOL.md: close code ${closeCode} of ${code} is not told`];
    });
  },
};

/** What `pnpm generate` writes is what is there. */
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
