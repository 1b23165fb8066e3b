import { chmodSync, cpSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { currentBuild, root } from '../build-folder.mjs';
import { notices } from './notices.mjs';
import { manifestOf, write } from './pack.mjs';

/** Files of a release in addition to the build and the documents: what starts it, and what an operator needs. */
const files = [
  '.env.example',
  'LICENSE',
  'compile/build-folder.mjs',
  'compile/inside-project.mjs',
  'compile/own-group.mjs',
  'compile/programs.mjs',
  'operating',
  'run.mjs',
];
/** Files to which the documents link, and the Python client, which pip installs from its sources. */
const linked = [
  'client/README.md',
  'client/examples',
  'clients/python/README.md',
  'clients/python/pyproject.toml',
  'clients/python/src',
  'site/web/dashboard.png',
  'docs',
];
/** Python writes it when it runs the client. */
const isCache = (/** @type {string} */ path) => path.endsWith('__pycache__');
/** Needs the sources, or describes them. */
const leftOut = /^((generate|render-documents)\.js(\.map)?|manifest\.json)$/;
const scriptNames = ['start', 'sluice', 'ingest', 'gateway'];

/**
 * Writes the content of the package `sluice` into `folder`, from the build in use.
 * @param {string} folder @param {string | null} sbom file with the list of parts; null leaves it out
 */
export function stageProduct(folder, sbom) {
  const build = currentBuild();
  if (build === null) throw new Error('Nothing was compiled yet: npx -y pnpm@12 run build');
  for (const name of readdirSync(build).filter((each) => !leftOut.test(each))) {
    write(join(folder, '.build/current', name), readFileSync(join(build, name)));
  }
  const documents = readdirSync(root).filter((name) => name.endsWith('.md'));
  for (const path of [...files, ...documents, ...linked]) {
    cpSync(join(root, path), join(folder, path), { recursive: true, filter: (each) => !isCache(each) });
  }
  write(join(folder, 'sluice'), launcher());
  chmodSync(join(folder, 'sluice'), 0o755);
  write(join(folder, 'THIRD-PARTY-LICENSES.txt'), notices());
  if (sbom !== null) cpSync(sbom, join(folder, 'sbom.cdx.json'));
  write(join(folder, 'package.json'), `${JSON.stringify(releaseManifest(), null, 2)}\n`);
}

/** Only the packages that the build loads at run time are dependencies: all others are compiled into it. */
function releaseManifest() {
  const { version, description, license, engines, scripts, dependencies } = manifestOf();
  const { libsql, 'uWebSockets.js': server } = dependencies;
  return {
    name: 'sluice',
    version,
    private: true,
    description,
    license,
    type: 'module',
    bin: { sluice: 'sluice' },
    scripts: Object.fromEntries(scriptNames.map((name) => [name, scripts[name]])),
    dependencies: { libsql },
    // Without it, the server of Node.js is used.
    optionalDependencies: { 'uWebSockets.js': server },
    engines,
  };
}

/** The command `sluice`. The shell replaces itself, so that signals reach the program, once, and no further process waits for it. */
function launcher() {
  const { scripts } = manifestOf();
  const runs = (/** @type {string} */ name) => scripts[name]?.replace(/ run\.mjs .*/, ` "$root/run.mjs" ${name} "$@"`);
  return `#!/bin/sh
# sluice start, gateway or ingest: runs this program. All other words are commands.
set -e
root=$(dirname "$(readlink -f "$0")")
case "$1" in
  start) shift; exec ${runs('start')} ;;
  gateway) shift; exec ${runs('gateway')} ;;
  ingest) shift; exec ${runs('ingest')} ;;
  *) exec ${runs('sluice')} ;;
esac
`;
}
