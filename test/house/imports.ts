import { posix } from 'node:path';
import type { SourceFile } from './source-files.ts';

export interface Import {
  /** Path of the importing file, from the root. */
  readonly from: string;
  readonly specifier: string;
  /** Path of the imported file of the project; null for packages and Node's own modules. */
  readonly to: string | null;
  /** Name of the package, or `node:…`; null for files of the project. */
  readonly package: string | null;
}

const forms = [
  /^\s*(?:import|export)\b[^'"`;]*?\bfrom\s*(['"])([^'"\n]+)\1/gm,
  /^\s*import\s*(['"])([^'"\n]+)\1/gm,
  /\b(?:import|require)\s*\(\s*(['"])([^'"\n]+)\1/g,
  // The first module of a thread.
  /\bnew URL\(\s*(['"])(\.[^'"\n]+\.ts)\1\s*,\s*import\.meta\.url\)/g,
];
const folderOfPackage: Readonly<Record<string, string>> = {
  shared: 'shared/src',
  venues: 'venues/src',
  programs: 'programs/src',
  followers: 'followers/src',
  ingest: 'ingest/src',
  gateway: 'gateway/src',
  client: 'client/src',
  trading: 'trading/src',
  site: 'site/src',
  simnet: 'test/simnet',
  test: 'test',
};

/** Every import, export-from, dynamic import, require and module named by `new URL` of a file; comments are ignored. */
export function importsOf(file: SourceFile): readonly Import[] {
  const code = file.text.replaceAll(/^\s*(\/\/|\*|\/\*).*$/gm, '');
  const specifiers = forms.flatMap((form) => [...code.matchAll(form)].map((match) => match[2] ?? ''));
  return [...new Set(specifiers)].map((specifier) => ({ from: file.path, specifier, ...resolve(file.path, specifier) }));
}

function resolve(from: string, specifier: string): Pick<Import, 'to' | 'package'> {
  if (specifier.startsWith('.')) return { to: posix.join(posix.dirname(from), specifier), package: null };
  const own = /^@sluice\/(\w+)(?:\/(.+))?$/.exec(specifier);
  if (own !== null && own[2]?.startsWith('web/')) return { to: posix.join('site/web/src', own[2].slice('web/'.length)), package: null };
  if (own !== null) return { to: posix.join(folderOfPackage[own[1] ?? ''] ?? 'nowhere', own[2] ?? 'index.ts'), package: null };
  if (specifier.startsWith('node:')) return { to: null, package: specifier };
  const parts = specifier.split('/');
  return { to: null, package: specifier.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] ?? specifier) };
}
