import { openSync, readFileSync, readSync } from 'node:fs';
import type { LoadHook } from 'node:module';

/** Where the compiled form of each module is in the file `modules`: first byte, and the byte after the last. The path has no extension. */
export type Places = Record<string, readonly [number, number]>;

const places = JSON.parse(readFileSync(new URL('places.json', import.meta.url), 'utf8')) as Places;
const modules = openSync(new URL('modules', import.meta.url), 'r');
let root: string;

/** @public Called by Node.js. */
export function initialize(rootUrl: string): void {
  root = `${rootUrl}/`;
}

/** @public Called by Node.js: loads the compiled form of a module of the project. */
export const load: LoadHook = (url, context, nextLoad) => {
  const path = url.startsWith(root) ? /^[^?]*(?=\.ts(\?|$))/.exec(url.slice(root.length))?.[0] : undefined;
  const place = path === undefined ? undefined : places[path];
  if (place === undefined) return nextLoad(url, context);
  const source = Buffer.alloc(place[1] - place[0]);
  readSync(modules, source, 0, source.length, place[0]);
  return { format: 'module', source, shortCircuit: true };
};
