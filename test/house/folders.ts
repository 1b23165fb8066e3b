import { posix } from 'node:path';
import budgets from './budgets.json' with { type: 'json' };
import type { HouseCheck } from './house-check.ts';
import { importsOf } from './imports.ts';
import { isTypeScript, sourceFiles, type SourceFile } from './source-files.ts';

/** Most modules directly in one folder. Suites are not counted: a folder has as many as there are things to test. */
const mostModules = 16;
/** Most doors of a package, and of a folder with folders in it. */
export const mostDoors = 10;
/** Most lines of one module. */
const mostLines = 420;
/** Written by `pnpm generate`. */
const generated: ReadonlySet<string> = new Set(['client/src/wire.ts']);

/** Folders and modules that have grown too large to find something in. */
export function sizeFaults(files: readonly SourceFile[]): readonly string[] {
  const modules = files.filter(isModule);
  const counts = new Map<string, number>();
  for (const { path } of modules) counts.set(posix.dirname(path), (counts.get(posix.dirname(path)) ?? 0) + 1);
  const crowded = [...counts].filter(([, count]) => count > mostModules);
  const long = modules
    .map(({ path, text }) => ({ path, lines: text.split('\n').length - 1 }))
    .filter(({ path, lines }) => lines > mostLines && !generated.has(path));
  return [
    ...crowded.map(([folder, count]) => `${folder} has ${count} modules; at most ${mostModules} are allowed`),
    ...long.map(({ path, lines }) => `${path} has ${lines} lines; at most ${mostLines} are allowed`),
  ];
}

/**
 * A folder with folders in it is a room with doors: these folders, and its own modules. Nobody finds the way in a room with many. `more` has the
 * folders that may have more than `mostDoors`, and how many.
 */
export function doorFaults(files: readonly SourceFile[], more: Readonly<Record<string, number>>): readonly string[] {
  const doors = new Map<string, Set<string>>();
  const rooms = new Set<string>();
  for (const { path } of files.filter((file) => isModule(file) && !/^(test|clients)\//.test(file.path))) {
    for (let door = path, room = posix.dirname(path); room !== '.'; door = room, room = posix.dirname(room)) {
      if (door !== path) rooms.add(room);
      doors.set(room, (doors.get(room) ?? new Set()).add(door));
    }
  }
  return [...rooms].flatMap((room) => {
    const [count, allowed] = [doors.get(room)!.size, more[room] ?? mostDoors];
    return count > allowed ? [`${room} has ${count} doors; at most ${allowed} are allowed`] : [];
  });
}

/**
 * Folders of one parent that depend on each other, directly or through further folders. `boundaries.ts` checks the folders at the top
 * level, because each of them is a package or imports packages.
 */
export function folderCircles(files: readonly SourceFile[]): readonly string[] {
  /** Parent folder → folder in it → folders of the same parent from which it imports. */
  const levels = new Map<string, Map<string, Set<string>>>();
  for (const { from, to } of files.filter(isModule).flatMap(importsOf)) {
    if (to === null) continue;
    const [source, target] = [posix.dirname(from).split('/'), posix.dirname(to).split('/')];
    const at = source.findIndex((folder, i) => folder !== target[i]);
    // One is in the other, or they meet at the top level only.
    if (at < 1 || at >= target.length) continue;
    const parent = source.slice(0, at).join('/');
    const level = levels.get(parent) ?? new Map<string, Set<string>>();
    levels.set(parent, level);
    const targets = level.get(source[at]!) ?? new Set<string>();
    level.set(source[at]!, targets.add(target[at]!));
  }
  return [...levels].flatMap(([parent, level]) =>
    [...level.keys()]
      .filter((folder) => reachedFrom(folder, level).has(folder))
      .map(
        (folder) =>
          `${parent}/${folder} depends on itself through ${[...level.get(folder)!].filter((next) => reachedFrom(next, level).has(folder)).join(', ')}`,
      ),
  );
}

function reachedFrom(folder: string, level: ReadonlyMap<string, ReadonlySet<string>>): ReadonlySet<string> {
  const reached = new Set<string>();
  const waiting = [...(level.get(folder) ?? [])];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (reached.has(next)) continue;
    reached.add(next);
    waiting.push(...(level.get(next) ?? []));
  }
  return reached;
}

function isModule(file: SourceFile): boolean {
  return isTypeScript(file) && !file.path.endsWith('.test.ts');
}

export const folders: HouseCheck = {
  name: 'folders',
  run: async (root) => {
    const files = sourceFiles(root);
    return [...sizeFaults(files), ...doorFaults(files, budgets.doors), ...folderCircles(files)];
  },
};

export interface Budgets {
  /** Folder at the top → most lines of its product code: no tests, no simnet, nothing generated. A commit that raises a number says why. */
  readonly lines: Readonly<Record<string, number>>;
  /** Manual → most bytes. A manual without a number is a reference, and may be long. */
  readonly bytes: Readonly<Record<string, number>>;
}

const productFile = /\.(ts|tsx|mjs|css|py)$/;
const notProduct = /^test\/|(^|\/)wire\.(ts|py)$|(^|\/)codec\/event-(readers|writers|searches)\.ts$|\/tests?\//;

/** What each budget has left; a negative number is a fault. */
export function leftOf({ lines, bytes }: Budgets, files: readonly SourceFile[]): ReadonlyMap<string, number> {
  const left = new Map(Object.entries({ ...lines, ...bytes }));
  for (const { path, text } of files) {
    if (bytes[path] !== undefined) left.set(path, bytes[path] - Buffer.byteLength(text));
    const [top = ''] = path.split('/');
    if (!productFile.test(path) || notProduct.test(path)) continue;
    left.set(top, (left.get(top) ?? 0) - (text.split('\n').length - 1));
  }
  return left;
}

/** Each package has a budget of lines, and each manual that is a narrative has one of bytes. */
export const budgetsOfSize: HouseCheck = {
  name: 'budgets of lines and bytes',
  run: async (root) =>
    [...leftOf(budgets, sourceFiles(root))]
      .filter(([, left]) => left < 0)
      .map(([name, left]) => `${name} is ${-left} above its budget in test/house/budgets.json`),
  note: async (root) => {
    const left = [...leftOf(budgets, sourceFiles(root))].filter(([name]) => name in budgets.lines);
    return `lines left: ${left.map(([name, count]) => `${name} ${count}`).join(', ')}`;
  },
};
