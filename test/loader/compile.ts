import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import type { Places } from './hooks.ts';

/** Folders of TypeScript that tests import. */
const folders = ['cli', 'client', 'followers', 'gateway', 'ingest', 'programs', 'shared', 'site', 'test', 'trading', 'venues'];

/**
 * Compiles each module of the project and of the tests into a temporary folder, which is removed when this process exits. Returns the address of
 * the module that makes a process load them from there (for the option `--import`). Vitest would compile each module itself, once for each
 * project, and evaluate it more slowly. The folder is new each time, because several runs may share a clone.
 */
export async function compileModules(root: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-modules-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: folders.flatMap((name) => modulesIn(join(root, name))),
    outbase: root,
    // As if they were next to their sources, so that the source maps name the sources.
    outdir: root,
    write: false,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    outExtension: { '.js': '.mjs' },
    sourcemap: 'inline',
    sourcesContent: false,
    logLevel: 'warning',
    tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
  });
  const places: Places = {};
  let end = 0;
  for (const { path, contents } of outputFiles) {
    places[relative(root, path).slice(0, -'.mjs'.length)] = [end, (end += contents.length)];
    if (dirname(path) === join(root, 'test/loader')) writeFileSync(join(folder, basename(path)), contents);
  }
  // One file: a thousand would cost more than the compilation.
  writeFileSync(join(folder, 'modules'), Buffer.concat(outputFiles.map(({ contents }) => contents)));
  writeFileSync(join(folder, 'places.json'), JSON.stringify(places));
  return `${pathToFileURL(join(folder, 'register.mjs')).href}?root=${encodeURIComponent(pathToFileURL(root).href)}`;
}

function modulesIn(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === 'node_modules' || entry.name.startsWith('.') ? [] : modulesIn(path);
    return /(?<!\.d)\.ts$/.test(entry.name) ? [path] : [];
  });
}
