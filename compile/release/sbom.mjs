import { readFileSync, writeFileSync } from 'node:fs';
import { isOwnOrCompiler } from './notices.mjs';
import { run } from './pack.mjs';

/** @typedef {{ readonly 'bom-ref': string }} Component */
/** @typedef {{ readonly ref: string, readonly dependsOn?: readonly string[] }} Edges */

/**
 * Writes the parts of the product as CycloneDX JSON, with licences and hashes, from the lock file. The compiler and its packages are no
 * parts. @param {string} file
 */
export function writeSbom(file) {
  const args = ['sbom', '--prod', '--sbom-format', 'cyclonedx', '--sbom-spec-version', '1.6', '--sbom-type', 'application', '--out', file];
  run('npx', ['-y', 'pnpm@12', ...args]);
  const bom = JSON.parse(readFileSync(file, 'utf8'));
  const edges = new Map(bom.dependencies.map((/** @type {Edges} */ each) => [each.ref, each.dependsOn ?? []]));
  /** @type {Set<string>} */
  const parts = new Set();
  const queue = [bom.metadata.component['bom-ref']];
  for (let ref = queue.pop(); ref !== undefined; ref = queue.pop()) {
    if (parts.has(ref)) continue;
    parts.add(ref);
    queue.push(...(edges.get(ref) ?? []).filter((/** @type {string} */ each) => !isCompiler(each)));
  }
  const components = bom.components.filter((/** @type {Component} */ each) => parts.has(each['bom-ref']));
  const dependencies = bom.dependencies
    .filter((/** @type {Edges} */ { ref }) => parts.has(ref))
    .map((/** @type {Edges} */ { ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((each) => parts.has(each)) }));
  writeFileSync(file, `${JSON.stringify({ ...bom, components, dependencies }, null, 2)}\n`);
}

/** @param {string} ref `pkg:npm/esbuild@0.28.2` */
function isCompiler(ref) {
  const name = decodeURIComponent(ref.slice('pkg:npm/'.length, ref.lastIndexOf('@')));
  return !name.startsWith('@sluice/') && isOwnOrCompiler(name);
}
