import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { root } from '../build-folder.mjs';
import { loadOwn } from '../inside-project.mjs';
import { manifestOf, run, write } from './pack.mjs';

/** Writes the content of the package `@sluice/client` into `folder`: plain JavaScript with its types. @param {string} folder */
export function stageClient(folder) {
  const source = join(root, 'client');
  const { name, version, description, license, dependencies, ...manifest } = manifestOf('client');
  const { '.': entry } = /** @type {{ readonly '.': Readonly<Record<string, string>> }} */ (manifest['exports']);
  /** @type {typeof import('esbuild')} */
  const { buildSync } = loadOwn('esbuild/lib/main.js');
  buildSync({
    absWorkingDir: source,
    entryPoints: Object.values(entry),
    outdir: join(folder, 'dist'),
    bundle: true,
    splitting: true,
    packages: 'external',
    format: 'esm',
    target: 'es2022',
    logLevel: 'warning',
    tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
  });
  writeTypes(
    Object.values(entry).map((path) => join(source, path)),
    join(folder, 'dist'),
  );
  const built = (/** @type {string} */ path, /** @type {string} */ ending) => `./dist/${basename(path, '.ts')}${ending}`;
  const exports = Object.fromEntries(
    Object.entries(entry).map(([condition, path]) => [condition, { types: built(path, '.d.ts'), default: built(path, '.js') }]),
  );
  const released = { name, version, description, license, type: 'module', sideEffects: false, exports: { '.': exports }, dependencies };
  write(join(folder, 'package.json'), `${JSON.stringify(released, null, 2)}\n`);
  for (const file of readdirSync(source).filter((each) => each.endsWith('.md'))) {
    // The package does not contain what is above its folder, so a link to it becomes its text.
    write(join(folder, file), readFileSync(join(source, file), 'utf8').replaceAll(/\[([^\]]*)\]\(\.\.\/[^)]*\)/g, '$1'));
  }
  cpSync(join(source, 'examples'), join(folder, 'examples'), { recursive: true });
  cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
}

/** @param {readonly string[]} entries @param {string} outDir */
function writeTypes(entries, outDir) {
  const settings = join(outDir, 'tsconfig.json');
  mkdirSync(outDir, { recursive: true });
  const compilerOptions = {
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    rootDir: join(root, 'client/src'),
    outDir,
    paths: { ws: [join(root, 'test/node_modules/@types/ws/index.d.mts')] },
  };
  writeFileSync(settings, JSON.stringify({ extends: join(root, 'tsconfig.base.json'), compilerOptions, files: entries }));
  run(process.execPath, [join(root, 'test/node_modules/typescript/bin/tsc'), '-p', settings]);
  rmSync(settings);
  // A package has no `.ts` files; a declaration refers to others by the name of their module.
  for (const path of readdirSync(outDir, { recursive: true, encoding: 'utf8' }).filter((each) => each.endsWith('.d.ts'))) {
    const file = join(outDir, path);
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/(from '\.[^']*)\.ts'/g, "$1.js'"));
  }
}
