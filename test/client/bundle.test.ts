import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build, type BuildOptions } from 'esbuild';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
const maxStreamBytes = 15 * 1_024;

/** Bundles a program that uses the client, and returns the code and the modules that it contains or imports. */
async function bundle(text: string, options: BuildOptions): Promise<{ readonly code: string; readonly modules: readonly string[] }> {
  const { outputFiles = [], metafile } = await build({
    stdin: { contents: text, resolveDir: join(root, 'test'), loader: 'ts' },
    bundle: true,
    write: false,
    metafile: true,
    format: 'esm',
    tsconfigRaw: {},
    ...options,
  });
  const imports = Object.values(metafile?.inputs ?? {}).flatMap((input) => input.imports.map(({ path }) => path));
  return { code: outputFiles[0]!.text, modules: [...Object.keys(metafile?.inputs ?? {}), ...imports] };
}

it('fits into 15 KB compressed in a browser, with the requests, and uses no module of Node.js', async () => {
  const text = `export { Sluice } from '@sluice/client';`;
  const { code, modules } = await bundle(text, { platform: 'browser', minify: true, target: 'es2022' });
  expect(gzipSync(code, { level: 9 }).length).toBeLessThanOrEqual(maxStreamBytes);
  expect(modules.filter((path) => !path.startsWith('../client/src/'))).toEqual(['<stdin>']);
  expect(code).not.toMatch(/\b(process|Buffer|require|__dirname)\b[.(]/);
});

it('uses ws in Node.js', async () => {
  const { modules } = await bundle(`export { Sluice } from '@sluice/client';`, { platform: 'node', packages: 'bundle' });
  expect(modules.some((path) => /\/ws@8[^/]*\/|\/node_modules\/ws\//.test(path))).toBe(true);
});
