import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { installedPackage } from '@sluice/shared/runtime/thread/installed-package.ts';
import type * as UwsModule from 'uWebSockets.js';
import { uwsBinaries } from './uws-binaries.ts';

export type Uws = typeof UwsModule;

/** Name of a function that the library's types do not list. Called with this text, the library omits its header (`uWebSockets: 20`) from answers. */
const configure = '_cfg';
const withoutMark = '999999990007';

export type UwsLoad =
  | { readonly kind: 'loaded'; readonly uws: Uws }
  | {
      readonly kind: 'unavailable';
      readonly reason: 'not_pinned' | 'not_readable' | 'hash_mismatch' | 'load_failed';
      readonly detail: string;
    };

const require = createRequire(import.meta.url);
const place = installedPackage('uWebSockets.js');

/** Loads the native server if its binary has the pinned hash; otherwise returns the reason. */
export function loadUws(platform = `${process.platform}_${process.arch}_${process.versions.modules}`, pinned = uwsBinaries): UwsLoad {
  const expected = pinned[platform];
  if (expected === undefined) return { kind: 'unavailable', reason: 'not_pinned', detail: platform };
  let actual: string;
  try {
    const file = join(dirname(require.resolve(place)), `uws_${platform}.node`);
    actual = createHash('sha256').update(readFileSync(file)).digest('hex');
  } catch (error) {
    return { kind: 'unavailable', reason: 'not_readable', detail: String(error) };
  }
  if (actual !== expected) return { kind: 'unavailable', reason: 'hash_mismatch', detail: actual };
  try {
    const uws = require(place) as Uws & Readonly<Record<typeof configure, (text: string) => void>>;
    uws[configure](withoutMark);
    return { kind: 'loaded', uws };
  } catch (error) {
    return { kind: 'unavailable', reason: 'load_failed', detail: String(error) };
  }
}
