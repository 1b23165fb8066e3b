import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { basename, join } from 'node:path';
import { buildsFolder, checkPath, digestOf, hasCode, isFresh, listSources, root, setCurrent, writeManifest } from './build-folder.mjs';
import { ForeignCodeError, checkMachineCode, checkOrigin, loadOwn, packages, refusePnpManifests } from './inside-project.mjs';
import { documents, exampleRecording, machineCode, programs, signer } from './programs.mjs';
import { compileWeb } from './web.mjs';

/** Compiles into a new folder of `.build`, and selects it. Running programs still start threads from their own build, so some are not deleted. */
const maxBuilds = 8;
/** Compilations that may be under way. A draft before them was left by one that was killed. */
const maxDrafts = 16;
/** How often it starts again if the sources change during the compilation. */
const maxTries = 3;

// If root installs it, other users must be able to read it. Only the owner can ever write it.
const [folderMode, umask] = process.getuid?.() === 0 ? [0o755, 0o022] : [0o700, 0o077];

/** @type {import('esbuild').BuildOptions} */
const options = {
  absWorkingDir: root,
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  entryNames: '[name]',
  chunkNames: '[name]-[hash]',
  sourcemap: 'linked',
  sourcesContent: false,
  legalComments: 'none',
  logLevel: 'warning',
  metafile: true,
  plugins: [packages],
  // With this, esbuild searches no folder for a `tsconfig.json`.
  tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
};

/** Packages in CommonJS load Node's own modules with `require`. */
const requireForPackages =
  "import { createRequire as createRequire_ } from 'node:module'; const require = createRequire_(import.meta.url);";

/** @param {string} outdir */
async function compileInto(outdir) {
  refusePnpManifests();
  checkMachineCode('esbuild', `@esbuild/${process.platform}-${process.arch}`);
  for (const [name, platformPackage] of Object.entries(machineCode)) checkMachineCode(name, platformPackage);
  /** @type {typeof import('esbuild')} */
  const { build } = loadOwn('esbuild/lib/main.js');
  const results = await Promise.all([
    build({ ...options, outdir, entryPoints: programs, splitting: true, banner: { js: requireForPackages } }),
    build({ ...options, outdir, entryPoints: signer }),
  ]);
  const page = await compileWeb(build, outdir);
  for (const metafile of [...results.map((result) => result.metafile), page]) checkOrigin(metafile);
  fs.copyFileSync(join(root, exampleRecording), join(outdir, basename(exampleRecording)));
  writeDocuments(join(outdir, 'documents.json'));
  const rendered = execFileSync(process.execPath, [join(outdir, 'render-documents.js')], { maxBuffer: 64 * 1024 ** 2 });
  fs.writeFileSync(join(outdir, 'rendered.json'), rendered);
  refusePnpManifests();
}

/** The texts of the documents by their paths, as one file: a build contains no folders. @param {string} file */
function writeDocuments(file) {
  const texts = documents.map((path) => [path, fs.readFileSync(join(root, path), 'utf8')]);
  fs.writeFileSync(file, JSON.stringify(Object.fromEntries(texts)));
}

async function compile() {
  makeBuildsFolder();
  for (let tries = 0; tries < maxTries; tries++) {
    const sources = listSources();
    const digest = digestOf(sources);
    const folder = join(buildsFolder, digest);
    if (!fs.existsSync(folder)) {
      const draft = fs.mkdtempSync(join(buildsFolder, 'draft-'));
      try {
        fs.chmodSync(draft, folderMode);
        await compileInto(draft);
        writeManifest(draft, { digest, sources });
        if (listSources() !== sources) continue;
        fs.renameSync(draft, folder);
      } catch (error) {
        // Another process has compiled the same sources.
        if (!hasCode(error, 'ENOTEMPTY', 'EEXIST')) throw error;
      } finally {
        fs.rmSync(draft, { recursive: true, force: true });
      }
    } else {
      checkPath(folder, 'folder');
      writeManifest(folder, { digest, sources });
    }
    setCurrent(digest);
    fs.utimesSync(folder, new Date(), new Date());
    return removeOld(digest);
  }
  throw new Error('The sources changed during the compilation. Start again when they no longer change.');
}

function makeBuildsFolder() {
  try {
    fs.mkdirSync(buildsFolder, { mode: folderMode });
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
  }
  checkPath(buildsFolder, 'folder');
  if (fs.lstatSync(buildsFolder).uid === process.getuid?.()) fs.chmodSync(buildsFolder, folderMode);
}

/** @param {string} newest */
function removeOld(newest) {
  const folders = fs
    .readdirSync(buildsFolder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== newest)
    .map(({ name }) => ({
      path: join(buildsFolder, name),
      draft: name.startsWith('draft-'),
      atMs: fs.statSync(join(buildsFolder, name)).mtimeMs,
    }))
    .toSorted((a, b) => b.atMs - a.atMs);
  const old = folders.filter(({ draft }) => !draft).slice(maxBuilds - 1);
  const abandoned = folders.filter(({ draft }) => draft).slice(maxDrafts);
  for (const { path } of [...old, ...abandoned]) fs.rmSync(path, { recursive: true, force: true });
}

/** A terminal shows why nothing else happens, if it takes more than two seconds. @param {() => Promise<void>} work */
async function withNote(work) {
  const { isTTY } = process.stderr;
  const timer = setTimeout(() => isTTY && process.stderr.write('\rCompiling the programs…'), 2_000);
  try {
    await work();
  } finally {
    clearTimeout(timer);
    if (isTTY) process.stderr.write('\r\u001B[K');
  }
}

process.umask(umask);
try {
  if (!isFresh()) await withNote(compile);
} catch (error) {
  if (error instanceof ForeignCodeError) console.error(error.message);
  else if (!hasCode(error, 'EACCES', 'EPERM', 'EROFS') || !(error instanceof Error)) throw error;
  else
    console.error(`The sources have changed since the last build, and ${buildsFolder} cannot be written: ${error.message}.
Compile them as the owner of ${root}: npx -y pnpm@12 run build`);
  process.exitCode = 1;
}
