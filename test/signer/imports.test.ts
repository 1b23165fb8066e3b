import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { importsOf, type Import } from '../house/imports.ts';
import { sourceFiles, type SourceFile } from '../house/source-files.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const entry = 'trading/src/signer/main.ts';
/** The parts of Node that the signing process uses: ciphers, files, paths, the uptime of the machine; no network, no other process. */
const allowed: ReadonlySet<string> = new Set(['node:crypto', 'node:fs', 'node:os', 'node:path']);

/** Types leave no code when the program runs. */
function withoutTypes({ path, text }: SourceFile): SourceFile {
  return { path, text: text.replaceAll(/^(import|export) type [^;]*;$/gm, '') };
}

function closure(files: ReadonlyMap<string, SourceFile>): readonly Import[] {
  const seen = new Set<string>();
  const queue = [entry];
  const imports: Import[] = [];
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    const file = files.get(path);
    if (file === undefined || seen.has(path)) continue;
    seen.add(path);
    const own = importsOf(withoutTypes(file));
    imports.push(...own);
    queue.push(...own.flatMap(({ to }) => (to === null ? [] : [to])));
  }
  return imports;
}

it("the signing process runs only our code and Node's, and opens no connection", () => {
  const imports = closure(new Map(sourceFiles(root).map((file) => [file.path, file])));
  const packages = new Set(imports.flatMap((one) => (one.package === null ? [] : [one.package])));
  expect([...packages].filter((name) => !allowed.has(name))).toEqual([]);
  // The scanner found the known imports.
  expect(packages).toEqual(allowed);
  const modules = new Set(imports.flatMap((one) => (one.to === null ? [] : [one.to])));
  for (const path of [
    'trading/src/signer/checks/check-message.ts',
    'trading/src/signer/custody/seal.ts',
    'shared/src/solana/transaction/transaction.ts',
  ]) {
    expect(modules).toContain(path);
  }
});
