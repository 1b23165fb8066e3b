import { readFileSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';

export interface SourceFile {
  /** From the root, with `/`. */
  readonly path: string;
  readonly text: string;
}

const skippedFolders: ReadonlySet<string> = new Set(['node_modules', '.git', '.data', '.build', 'results']);
const textFile =
  /\.(ts|tsx|mts|js|mjs|json|jsonc|md|yaml|yml|html|css|txt|sh|lua|py|toml|c|service|tpl|patch)$|(^|\/)(Procfile|LICENSE|Containerfile|run|\.gitignore|\.env\.example)$/;

/** Every text file of the project that people wrote, by path, without the lock file. */
export function sourceFiles(root: string): readonly SourceFile[] {
  return readdirSync(root, { recursive: false, withFileTypes: true })
    .flatMap((entry) => walk(join(root, entry.name), entry.isDirectory()))
    .map((path) => relative(root, path).replaceAll('\\', '/'))
    .filter((path) => textFile.test(path) && !path.endsWith('pnpm-lock.yaml'))
    .toSorted()
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
}

function walk(path: string, isFolder: boolean): readonly string[] {
  if (!isFolder) return [path];
  if (skippedFolders.has(path.slice(path.lastIndexOf('/') + 1))) return [];
  return readdirSync(path, { withFileTypes: true }).flatMap((entry) => walk(join(path, entry.name), entry.isDirectory()));
}

export function isTypeScript(file: SourceFile): boolean {
  return /\.tsx?$/.test(file.path) && !file.path.endsWith('.d.ts');
}

/** `path:line` of a place in a file. */
export function place(file: SourceFile, offset: number): string {
  return `${file.path}:${file.text.slice(0, offset).split('\n').length}`;
}
