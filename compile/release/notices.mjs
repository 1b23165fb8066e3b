import { existsSync, readFileSync, readdirSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from '../build-folder.mjs';

const parts = ['.', 'client', 'gateway', 'ingest', 'programs', 'shared', 'site', 'test/simnet', 'trading', 'venues'];
const licenceFile = /^(licen[cs]e|copying|notice)(\b|$)/i;

/** The licences of all packages that are compiled into the product, or that it loads. */
export function notices() {
  /** @type {Map<string, string>} */
  const texts = new Map();
  const queue = parts.map((part) => join(root, part));
  for (let folder = queue.pop(); folder !== undefined; folder = queue.pop()) {
    const { dependencies = {} } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    for (const name of Object.keys(dependencies).filter((each) => !isOwnOrCompiler(each))) {
      const found = findPackage(folder, name);
      if (found === null || texts.has(found)) continue;
      texts.set(found, noticeOf(found));
      queue.push(found);
    }
  }
  return [...texts.values()].toSorted().join('\n\n');
}

/** Packages that compile the product are no part of it. @param {string} name */
export function isOwnOrCompiler(name) {
  return name.startsWith('@sluice/') || name === 'esbuild';
}

/** @param {string} from @param {string} name @returns {string | null} */
function findPackage(from, name) {
  const path = join(from, 'node_modules', name);
  if (existsSync(join(path, 'package.json'))) return realpathSync(path);
  return from === root || from === dirname(from) ? null : findPackage(dirname(from), name);
}

/** @param {string} folder */
function noticeOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const texts = readdirSync(folder)
    .filter((each) => licenceFile.test(each))
    .map((each) => readFileSync(join(folder, each), 'utf8').trim());
  return [`${name} ${version} (${license})`, ...texts].join('\n\n');
}
