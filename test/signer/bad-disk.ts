import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformSync } from 'esbuild';

const source = fileURLToPath(new URL('disk-child.ts', import.meta.url));

/** The disk under the audit logs of signing processes that this process starts from now on. */
export interface BadDisk {
  says(what: 'hold' | 'full' | 'broken'): void;
  isWell(): void;
  end(): void;
}

/** The processes are the product's own and start as usual, but `disk-child.ts` is loaded before their program. */
export function badDisk(): BadDisk {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-disk-'));
  const [file, program, preload] = [join(folder, 'says'), join(folder, 'node'), join(folder, 'preload.mjs')];
  const node = process.execPath;
  writeFileSync(preload, transformSync(readFileSync(source, 'utf8'), { loader: 'ts' }).code);
  const script = `#!/bin/sh\nDISK='${file}' exec '${node}' --import '${preload}' "$@"\n`;
  writeFileSync(program, script, { mode: 0o700 });
  process.execPath = program;
  const isWell = (): void => rmSync(file, { force: true });
  return {
    says: (what) => writeFileSync(file, what),
    isWell,
    end: () => {
      isWell();
      process.execPath = node;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
