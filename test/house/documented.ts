import { execFile } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { errorTable } from '@sluice/shared/wire/errors.ts';
import type { HouseCheck } from './house-check.ts';
import { place, sourceFiles, type SourceFile } from './source-files.ts';

/** REFERENCE.md lists every error that a client can receive, with its status, and no other error. */
export const documentedErrors: HouseCheck = {
  name: 'errors against REFERENCE.md',
  async run(root) {
    const file = join(root, 'docs/REFERENCE.md');
    if (!existsSync(file)) return ['REFERENCE.md: the file does not exist'];
    const text = readFileSync(file, 'utf8');
    const rows = text.split('\n').filter((line) => line.startsWith('|'));
    return Object.entries(errorTable).flatMap(([code, { status, closeCode }]) => {
      const row = rows.find((line) => line.includes(`\`${code}\``) && line.includes(String(status)));
      if (row === undefined) return [`REFERENCE.md: no row has ${code} with its status ${status}`];
      return closeCode === undefined || text.includes(String(closeCode))
        ? []
        : [`REFERENCE.md: close code ${closeCode} of ${code} is missing`];
    });
  },
};

/** The generated files equal what `pnpm generate` writes. */
export const generatedFiles: HouseCheck = {
  name: 'generated parts are fresh',
  run: (root) =>
    new Promise((resolve) => {
      execFile(process.execPath, ['run.mjs', 'generate', '--check'], { cwd: root }, (error, stdout, stderr) => {
        const lines = `${stdout}${stderr}`.split('\n').filter((line) => line !== '');
        resolve(error === null ? [] : lines.length > 0 ? lines : [error.message]);
      });
    }),
};

export interface Tree {
  /** Folders at the top. */
  readonly tops: ReadonlySet<string>;
  /** Each file and folder by its path, and by each end of it: `stream/hub.ts`, `hub.ts` and `stream/`. */
  readonly ends: ReadonlySet<string>;
  /** Whether this path from the root exists. */
  readonly exists: (path: string) => boolean;
}

/** Written by a run. Git ignores it. */
const written: ReadonlySet<string> = new Set(['test/e2e/screenshots/']);
const isModule = /^[\w@./-]+\.tsx?$/;
const isFolder = /^[\w@-][\w@./-]*\/$/;
/** `signer/wall` is test/signer/wall.test.ts. */
const isSuite = /^[\w-]+(?:\/[\w-]+)+$/;
/** What a drawing of the source tree names. */
const inTree = /(?<![\w@./-])[\w@-][\w@./-]*(?:\/(?=[\s,;:)])|\.(?:ts|mjs)\b)/g;

/** Documents name the files of the project by paths that exist: in backticks, and in links. */
export const documentPaths: HouseCheck = {
  name: 'paths in documents',
  async run(root) {
    const files = sourceFiles(root);
    const tops = readdirSync(root, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
    const tree = { ...treeOf(files.map(({ path }) => path)), exists: (path: string) => existsSync(join(root, path)) };
    return files
      .filter(({ path }) => path.endsWith('.md'))
      .flatMap((file) =>
        pathFaults(file, { ...tree, tops: new Set(tops.filter((name) => name !== 'node_modules' && !name.startsWith('.'))) }),
      );
  },
};

export function treeOf(paths: readonly string[]): Pick<Tree, 'ends'> {
  const ends = new Set<string>();
  for (const path of paths) {
    const parts = path.split('/');
    for (let end = 1; end <= parts.length; end++) {
      const last = end === parts.length ? '' : '/';
      for (let at = 0; at < end; at++) ends.add(`${parts.slice(at, end).join('/')}${last}`);
    }
  }
  return { ends };
}

/** What a document names that does not exist. Code blocks are not checked: their programs and paths belong to the reader. */
export function pathFaults(file: SourceFile, { tops, ends, exists }: Tree): readonly string[] {
  const text = file.text.replaceAll(/^ *```[^]*?^ *```$/gm, (block) => block.replaceAll(/[^\n]/g, ' '));
  const isFound = (path: string): boolean => exists(path) || exists(`test/${path}.test.ts`);
  const named = [...text.matchAll(/`([^`\n]+)`/g)].filter(({ 1: path = '' }) => {
    if (written.has(path)) return false;
    // `venues/src/<program>/decode.ts` means several files.
    const known = path.replace(/[<*].*$/, '');
    if (path.includes('/') && tops.has(path.slice(0, path.indexOf('/')))) return !isFound(known);
    if (isSuite.test(path) && ends.has(`test/${path.slice(0, path.indexOf('/'))}/`))
      return !ends.has(`${path}.test.ts`) && !ends.has(`${path}/`);
    return (isModule.test(path) || isFolder.test(path)) && !path.startsWith('/') && !ends.has(path.replace(/^(\.\.?\/)+/, ''));
  });
  const linked = [...text.replaceAll(/`[^`\n]*`/g, (code) => ' '.repeat(code.length)).matchAll(/\]\(([^)#\s:]+)(?:#[^)\s]*)?\)/g)].filter(
    ({ 1: path = '' }) => !exists(join(dirname(file.path), path)),
  );
  const [tree] = file.path === 'docs/ARCHITECTURE.md' ? [...file.text.matchAll(/^```\n([^]*?)^```$/gm)] : [];
  const drawn = [...(tree?.[1] ?? '').matchAll(inTree)].filter(([path]) => !ends.has(path));
  const lost = drawn.map(({ 0: path, index }) => ({ 1: path, index: (tree?.index ?? 0) + '```\n'.length + index }));
  return [...named, ...linked, ...lost].map(({ 1: path, index }) => `${place(file, index)}: ${path} does not exist`);
}
