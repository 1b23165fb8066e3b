import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { root } from './build-folder.mjs';
import { packages } from './inside-project.mjs';
import { web } from './programs.mjs';

/**
 * Compiles the page of the dashboard into `outdir`: `web.html`, the files that it loads, and those that the documentation loads
 * (`web-docs-…`), each also compressed. Names of these files contain a hash of their content. It returns what esbuild reports about the origin of the code.
 * @param {typeof import('esbuild').build} build @param {string} outdir
 */
export async function compileWeb(build, outdir) {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: web.entries,
    outdir,
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    entryNames: '[name]-[hash]',
    chunkNames: 'web-[name]-[hash]',
    legalComments: 'none',
    logLevel: 'warning',
    metafile: true,
    plugins: [packages],
    tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true, jsx: 'react-jsx', jsxImportSource: 'preact' } },
  });
  const html = readFileSync(join(root, web.html), 'utf8');
  const entries = readdirSync(outdir).filter((name) => /^web-[A-Z0-9]{8}\.(js|css)$/.test(name));
  writeFileSync(
    join(outdir, 'web.html'),
    entries.reduce((text, name) => text.replace(name.endsWith('.js') ? '%SCRIPT%' : '%STYLE%', `/dashboard/assets/${name}`), html),
  );
  for (const name of readdirSync(outdir).filter((each) => /^web[-.].*(js|css|html)$/.test(each))) {
    const bytes = readFileSync(join(outdir, name));
    const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
    writeFileSync(join(outdir, `${name}.br`), brotliCompressSync(bytes, { params }));
    writeFileSync(join(outdir, `${name}.gz`), gzipSync(bytes, { level: 9 }));
  }
  return metafile;
}
