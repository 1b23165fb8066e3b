import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const preload = fileURLToPath(new URL('disk-child.ts', import.meta.url));

/** The disk under the audit logs of the signing processes that this process starts from now on. */
export interface BadDisk {
  says(what: 'hold' | 'full' | 'broken'): void;
  isWell(): void;
  end(): void;
}

/** The processes are the product's own, started as it starts them, with `disk-child.ts` loaded before their program. */
export function badDisk(): BadDisk {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-disk-'));
  const [file, program] = [join(folder, 'says'), join(folder, 'node')];
  const node = process.execPath;
  // The product's two arguments load the loader of TypeScript.
  const script = `#!/bin/sh\nflag=$1\nloader=$2\nshift 2\nDISK='${file}' exec '${node}' "$flag" "$loader" --import '${preload}' "$@"\n`;
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
